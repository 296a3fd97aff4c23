// Compares stacks of real processes, walked by the Unwinder, with those that libdwfl, an
// independent implementation, walks at the same time. All stacks must be equal, frame by frame.
//
// The targets are child processes that this test stops with ptrace, so that both walks use the same
// registers and memory. The Unwinder itself never attaches to a process.
//
// CTPROF_STACKS_WITHOUT_CFI='NAME ...' hides the call frame information of files with these names
// from the Unwinder, which must then guess their frames. libdwfl sees it, so that the guessed
// frames can be counted that are right.

#include <boost/test/unit_test.hpp>

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/text.hpp"
#include "core/stacks/modules.hpp"
#include "core/stacks/unwinder.hpp"
#include "tests/unit/live/files_without_cfi.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::stacks_live_test {
namespace {

constexpr std::size_t kStackBytes = 1 << 20;

// A child that runs a program until this object is destroyed. Its input is a pipe without data.
class Child {
 public:
  explicit Child(std::vector<std::string> command) {
    int input[2];
    BOOST_REQUIRE(::pipe2(input, O_CLOEXEC) == 0);
    writer_.reset(input[1]);
    const sdk::Fd reader(input[0]);
    pid_ = ::fork();
    if (pid_ == 0) run(command, reader.get());
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] static void run(std::vector<std::string>& command, int input) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(input, 0);
    const int output = ::open("/dev/null", O_WRONLY);
    ::dup2(output, 1);
    ::dup2(output, 2);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }

  sdk::Fd writer_;
  pid_t pid_;
};

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> tids;
  const std::filesystem::path tasks("/proc/" + std::to_string(pid) + "/task");
  for (const auto& task : std::filesystem::directory_iterator(tasks))
    tids.push_back(std::stoi(task.path().filename()));
  return tids;
}

// A thread that is stopped until this object is destroyed.
class StoppedThread {
 public:
  explicit StoppedThread(pid_t tid) : tid_(tid) {
    BOOST_REQUIRE(::ptrace(PTRACE_SEIZE, tid, 0, 0) == 0);
    BOOST_REQUIRE(::ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0);
    BOOST_REQUIRE(::waitpid(tid, nullptr, __WALL) == tid);
  }
  ~StoppedThread() { ::ptrace(PTRACE_DETACH, tid_, 0, 0); }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  Registers registers() const {
    user_regs_struct all{};
    iovec to{&all, sizeof all};
    BOOST_REQUIRE(::ptrace(PTRACE_GETREGSET, tid_, 1 /* NT_PRSTATUS */, &to) == 0);
#ifdef __aarch64__
    return {all.pc, all.sp, all.regs[29], all.regs[30]};
#else
    return {all.rip, all.rsp, all.rbp, all.rdi};
#endif
  }
  std::string stack(std::uint64_t from) const {
    std::string bytes(kStackBytes, '\0');
    for (std::size_t size = bytes.size(); size > 0; size /= 2) {
      iovec to{bytes.data(), size}, remote{reinterpret_cast<void*>(from), size};
      const ssize_t count = ::process_vm_readv(tid_, &to, 1, &remote, 1, 0);
      if (count > 0) return bytes.substr(0, static_cast<std::size_t>(count));
    }
    return {};
  }

 private:
  pid_t tid_;
};

// Walks with libdwfl. Returns instruction addresses; for callers, the address of the last byte of
// the call.
class ReferenceWalk {
 public:
  explicit ReferenceWalk(pid_t pid) : dwfl_(::dwfl_begin(&kCallbacks)) {
    BOOST_REQUIRE(::dwfl_linux_proc_report(dwfl_, pid) == 0);
    ::dwfl_report_end(dwfl_, nullptr, nullptr);
    BOOST_REQUIRE(::dwfl_linux_proc_attach(dwfl_, pid, true) == 0);
  }
  ~ReferenceWalk() { ::dwfl_end(dwfl_); }
  ReferenceWalk(const ReferenceWalk&) = delete;
  ReferenceWalk& operator=(const ReferenceWalk&) = delete;

  std::vector<std::uint64_t> walk(pid_t tid) const {
    std::vector<std::uint64_t> addresses;
    const auto note = [](Dwfl_Frame* frame, void* to) {
      Dwarf_Addr pc = 0;
      bool is_exact = false;
      if (!::dwfl_frame_pc(frame, &pc, &is_exact)) return static_cast<int>(DWARF_CB_ABORT);
      static_cast<std::vector<std::uint64_t>*>(to)->push_back(is_exact ? pc : pc - 1);
      return static_cast<int>(DWARF_CB_OK);
    };
    ::dwfl_getthread_frames(dwfl_, tid, note, &addresses);
    return addresses;
  }

 private:
  static constexpr Dwfl_Callbacks kCallbacks{::dwfl_linux_proc_find_elf,
                                             ::dwfl_standard_find_debuginfo, nullptr, nullptr};
  Dwfl* dwfl_;
};

// Opens files by path: files of our children are not replaced or deleted, and map_files needs root.
sdk::Fd open_mapped(std::uint64_t, const CodeRange&, const std::string& path) {
  if (hides_cfi(path)) return copy_without_cfi(path);
  return sdk::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

struct Tally {
  std::size_t stacks = 0, frames = 0, roots = 0, guessed = 0, unequal = 0;
  // Guessed frames for which libdwfl found a frame, and those of them that are the same.
  std::size_t checked_guesses = 0, right_guesses = 0;
};

// A running program can be stopped in a hand-written prologue, or where a thread starts or exits.
// Such a stack may be incomplete if it is marked so.
bool reaches_root_mostly(const Tally& tally) { return 100 * tally.roots >= 98 * tally.stacks; }

std::string frame_list(const std::vector<Frame>& frames, const Modules& modules) {
  std::ostringstream text;
  for (const Frame& frame : frames)
    text << "  " << modules[frame.module].path << "+0x" << std::hex << frame.offset << std::dec
         << (frame.is_guessed ? " guessed" : "") << '\n';
  return text.str();
}

class Comparison {
 public:
  explicit Comparison(pid_t pid)
      : pid_(pid),
        modules_(open_mapped),
        unwinder_(modules_),
        space_(static_cast<std::uint64_t>(pid)) {}

  void compare_all() {
    std::vector<std::unique_ptr<StoppedThread>> stopped;
    const auto tids = threads_of(pid_);
    for (const pid_t tid : tids) stopped.push_back(std::make_unique<StoppedThread>(tid));
    update_mappings();
    for (std::size_t i = 0; i < tids.size(); ++i) compare(*stopped[i], tids[i]);
  }
  const Tally& tally() const { return tally_; }

 private:
  // A program may load libraries or execute another program.
  void update_mappings() {
    std::string maps = file_text("/proc/" + std::to_string(pid_) + "/maps");
    if (maps == maps_) return;
    maps_ = std::move(maps);
    space_ = AddressSpace(space_.process());
    for (const Mapping& mapping : parse_code_mappings(maps_))
      space_.add_mapping(modules_.make_code_range(space_.process(), mapping));
    reference_ = std::make_unique<ReferenceWalk>(pid_);
  }

  void compare(const StoppedThread& thread, pid_t tid) {
    const Registers registers = thread.registers();
    const std::string stack = thread.stack(registers.sp);
    std::vector<Frame> frames, expected;
    const WalkEnd ending = unwinder_.walk(space_, registers, {registers.sp, stack}, frames, 4096);
    ++tally_.stacks;
    tally_.frames += frames.size();
    tally_.roots += ending == WalkEnd::Root;
    if (ending != WalkEnd::Root)
      BOOST_TEST_MESSAGE("ended " << static_cast<int>(ending) << ":\n"
                                  << frame_list(frames, modules_));
    for (const std::uint64_t address : reference_->walk(tid)) {
      const CodeRange* range = space_.find(address);
      if (range) expected.push_back({address - range->start + range->offset, range->module, false});
    }
    const bool guessed = std::ranges::any_of(frames, &Frame::is_guessed);
    tally_.guessed += guessed;
    if (guessed) return check_guesses(frames, expected);
    // A stack that is marked as incomplete may be shorter, but must not differ.
    if (ending != WalkEnd::Root && frames.size() < expected.size()) expected.resize(frames.size());
    if (frames == expected) return;
    ++tally_.unequal;
    BOOST_TEST_MESSAGE("ours:\n"
                       << frame_list(frames, modules_) << "libdwfl's:\n"
                       << frame_list(expected, modules_));
  }

  // Counts guessed frames that libdwfl finds at the same place of the stack.
  void check_guesses(const std::vector<Frame>& frames, const std::vector<Frame>& expected) {
    const auto is_same = [](const Frame& a, const Frame& b) {
      return a.offset == b.offset && a.module == b.module;
    };
    const std::size_t right_before = tally_.right_guesses, checked_before = tally_.checked_guesses;
    for (std::size_t i = 0; i < std::min(frames.size(), expected.size()); ++i) {
      if (!frames[i].is_guessed) continue;
      ++tally_.checked_guesses;
      tally_.right_guesses += is_same(frames[i], expected[i]);
    }
    if (tally_.right_guesses - right_before == tally_.checked_guesses - checked_before) return;
    BOOST_TEST_MESSAGE("wrong guess:\n"
                       << frame_list(frames, modules_) << "libdwfl's:\n"
                       << frame_list(expected, modules_));
  }

  pid_t pid_;
  Modules modules_;
  Unwinder unwinder_;
  AddressSpace space_;
  std::string maps_;
  std::unique_ptr<ReferenceWalk> reference_;
  Tally tally_;
};

bool is_installed(const std::string& program) {
  if (program.starts_with('/')) return ::access(program.c_str(), X_OK) == 0;
  const std::string path = std::getenv("PATH");
  return std::ranges::any_of(split(path, ':'), [&](std::string_view directory) {
    return ::access((std::string(directory) + '/' + program).c_str(), X_OK) == 0;
  });
}

Tally compare_process(pid_t pid, const std::string& name, unsigned times) {
  Comparison comparison(pid);
  for (unsigned i = 0; i < times; ++i) {
    comparison.compare_all();
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 131 * (i % 100)));
  }
  const Tally& tally = comparison.tally();
  BOOST_TEST_MESSAGE(name << ": " << tally.stacks << " stacks, " << tally.frames << " frames, "
                          << tally.roots << " to the root, " << tally.guessed << " guessed, "
                          << tally.unequal << " unequal, " << tally.right_guesses << " of "
                          << tally.checked_guesses << " guessed frames right");
  return tally;
}

Tally compare_process(const std::vector<std::string>& command, unsigned times) {
  if (!is_installed(command[0])) {
    BOOST_TEST_MESSAGE(command[0] << " is not installed: nothing to compare");
    return {};
  }
  const Child child(command);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return compare_process(child.pid(), command[0], times);
}

}  // namespace

using Command = std::vector<std::string>;

// tools/dev soak sets a larger number.
unsigned round_count() {
  const char* value = std::getenv("TEST_ROUNDS");
  return value ? static_cast<unsigned>(std::stoul(value)) : 50;
}

BOOST_AUTO_TEST_SUITE(stacks_live_test)

BOOST_AUTO_TEST_CASE(sleeping_programs_have_equal_stacks) {
  for (const Command& command :
       {Command{"sleep", "100"}, {"cat"}, {"sqlite3"}, {"/usr/bin/python3"}}) {
    const Tally tally = compare_process(command, 10);
    BOOST_TEST(tally.unequal == 0u);
    BOOST_TEST(tally.roots == tally.stacks);
  }
}

// Threads are stopped anywhere: in prologues, epilogues and PLT stubs.
BOOST_AUTO_TEST_CASE(running_programs_have_equal_stacks) {
  const Command python{
      "/usr/bin/python3", "-c",
      "import json, re\nwhile True: re.sub('a|b', 'c', json.dumps(list(range(99))))"};
  const Command sqlite{"sqlite3", ":memory:",
                       "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) "
                       "SELECT sum(length(printf('%f', x))) FROM c"};
  const Command perl{"perl", "-e", "while (1) { my @a = sort { $a <=> $b } map { rand } 1..99 }"};
  for (const Command& command : {python, sqlite, perl}) {
    const Tally tally = compare_process(command, round_count());
    BOOST_TEST(tally.unequal == 0u);
    BOOST_TEST(reaches_root_mostly(tally));
  }
}

// Exceptions, callbacks of the C library, threads, and signal handlers at any instruction; without
// frame pointers.
BOOST_AUTO_TEST_CASE(the_target_program_has_equal_stacks) {
  const char* target = std::getenv("STACKS_TARGET");
  if (!target) return void(BOOST_TEST_MESSAGE("STACKS_TARGET is not set: nothing to compare"));
  const Tally tally = compare_process({target}, round_count());
  BOOST_TEST(tally.stacks == 3 * round_count());
  BOOST_TEST(tally.unequal == 0u);
  BOOST_TEST(reaches_root_mostly(tally));
}

// For manual tests of other programs: CTPROF_STACKS_OF='java -jar x.jar' unit-live -t
// stacks_live_test -l message
BOOST_AUTO_TEST_CASE(a_specified_program_has_equal_stacks) {
  const char* value = std::getenv("CTPROF_STACKS_OF");
  if (!value) return;
  std::istringstream words(value);
  const Tally tally =
      compare_process({std::istream_iterator<std::string>(words), {}}, round_count());
  BOOST_TEST(tally.unequal == 0u);
}

// For running processes: CTPROF_STACKS_IN='pid ...', as stacks_programs.py sets it.
BOOST_AUTO_TEST_CASE(specified_processes_have_equal_stacks) {
  const char* value = std::getenv("CTPROF_STACKS_IN");
  if (!value) return;
  std::istringstream pids(value);
  for (std::string pid; pids >> pid;)
    BOOST_TEST(compare_process(std::stoi(pid), pid, round_count()).unequal == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::stacks_live_test
