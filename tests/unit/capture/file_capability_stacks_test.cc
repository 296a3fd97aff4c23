// Tests the stacks that a user sees who runs ctprof with file capabilities: only stacks of the
// user's own processes, without addresses.

#include <boost/test/unit_test.hpp>

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "core/capture/own_processes.hpp"
#include "core/capture/recorder_processes.hpp"
#include "core/stacks/hidden_offsets.hpp"
#include "tests/unit/capture/test_recording.hpp"

namespace ctprof::file_capability_stacks_test {
namespace {

using namespace hand_made;

using Access = OwnProcesses::Access;

const std::uint64_t kSelf = static_cast<std::uint64_t>(::getpid());
constexpr std::uint64_t kNoProcess = 1 << 22;  // larger than any process id
constexpr std::uint64_t kKernelAddress = 0xffffffffff001000, kUserAddress = 0x7fff00001234;

// A stopped process of user nobody, if the test runs as root. The destructor kills it.
class NobodyProcess {
 public:
  NobodyProcess() : pid_(::fork()) {
    constexpr uid_t kNobody = 65534;
    if (pid_ != 0) {
      ::waitpid(pid_, nullptr, WUNTRACED);
      return;
    }
    const bool is_other =
        ::setgroups(0, nullptr) == 0 && ::setresuid(kNobody, kNobody, kNobody) == 0;
    if (is_other) ::raise(SIGSTOP);
    ::_exit(1);
  }
  ~NobodyProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  NobodyProcess(const NobodyProcess&) = delete;
  NobodyProcess& operator=(const NobodyProcess&) = delete;
  std::uint64_t id() const { return static_cast<std::uint64_t>(pid_); }

 private:
  pid_t pid_;
};

// Returns a window with two threads of a process.
Snapshot window_of(std::uint64_t tgid) {
  const std::vector<StartedThread> threads{{7, 5}, {8, 5}};
  auto made = make_window(snapshot_at(10, threads, tgid), snapshot_at(20, threads, tgid),
                          exited_at(12, {}, tgid));
  BOOST_REQUIRE(made);
  return std::move(*made);
}

// Takes one record of the first thread.
void record_stack(Recording& recording, std::uint64_t tgid) {
  const std::vector<std::uint64_t> kernel{kKernelAddress, kKernelAddress + 0x100},
      user{kUserAddress};
  recording.begin();
  ctprof_record record = with_addresses(record_of(tgid, 7, 1), user);
  record.kernel = kernel.data();
  record.kernel_count = static_cast<std::uint32_t>(kernel.size());
  recording.stacks().add(record);
  recording.stacks().finish();
}

Gap gap_of(const Recording& recording, std::size_t row) {
  return static_cast<Gap>(recording.window().threads().find(kStacks.name)->gaps()[row]);
}

boost::unit_test::precondition needs_root() {
  return boost::unit_test::precondition([](auto) { return ::geteuid() == 0; });
}

BOOST_AUTO_TEST_SUITE(file_capability_stacks_test)

BOOST_AUTO_TEST_CASE(without_file_capabilities_all_processes_count_as_own) {
  OwnProcesses own(proc().get(), false);
  for (const std::uint64_t process : {kSelf, std::uint64_t{1}, kNoProcess})
    BOOST_TEST((own.find_access(process) == Access::Own));
}

BOOST_AUTO_TEST_CASE(processes_of_other_users_are_foreign, *needs_root()) {
  const NobodyProcess other_process;
  OwnProcesses own(proc().get(), true);
  BOOST_TEST((own.find_access(kSelf) == Access::Own));
  BOOST_TEST((own.find_access(kNoProcess) == Access::Exited));
  BOOST_TEST((own.find_access(other_process.id()) == Access::Foreign));
}

BOOST_AUTO_TEST_CASE(own_stacks_have_no_addresses) {
  Recording recording(window_of(kSelf), {}, {}, true);
  record_stack(recording, kSelf);
  BOOST_TEST((gap_of(recording, 0) == Gap::None));
  BOOST_TEST((gap_of(recording, 1) == Gap::None));
  const StackTable& table = recording.window().pools->stacks.table;
  BOOST_REQUIRE(recording.frames(0).size() == 4u);  // the last is "[truncated]"
  for (std::uint32_t frame = 1; frame < table.frames().size(); ++frame) {
    BOOST_TEST(table.frames()[frame].offset < 2u);
    BOOST_TEST(!table.get_name(frame).empty());
  }
  BOOST_TEST(recording.window().meta.notes.back().find("may trace") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(without_file_capabilities_stacks_keep_addresses) {
  Recording recording(window_of(kSelf));
  record_stack(recording, kSelf);
  BOOST_TEST(recording.frames(0).front().offset == kKernelAddress);
}

BOOST_AUTO_TEST_CASE(stacks_of_other_users_are_denied, *needs_root()) {
  const NobodyProcess other_process;
  Recording recording(window_of(other_process.id()), {}, {}, true);
  record_stack(recording, other_process.id());
  BOOST_TEST((gap_of(recording, 0) == Gap::Denied));
  BOOST_TEST((gap_of(recording, 1) == Gap::Denied));
  BOOST_TEST(recording.window().pools->stacks.table.nodes().size() == 1u);
}

// After a process has exited, the kernel no longer reports whether the user may inspect it.
BOOST_AUTO_TEST_CASE(stacks_of_exited_processes_are_denied) {
  Recording recording(window_of(kNoProcess), {}, {}, true);
  record_stack(recording, kNoProcess);
  BOOST_TEST((gap_of(recording, 0) == Gap::Denied));
  BOOST_TEST((gap_of(recording, 1) == Gap::Denied));
  BOOST_TEST(recording.window().pools->stacks.table.nodes().size() == 1u);
}

BOOST_AUTO_TEST_CASE(stacks_of_exited_processes_that_were_own_are_kept) {
  Recording recording(window_of(kNoProcess), {}, {}, true);
  recording.stacks().set_own_processes(std::vector{kNoProcess});
  record_stack(recording, kNoProcess);
  BOOST_TEST((gap_of(recording, 0) == Gap::None));
  BOOST_TEST(recording.frames(0).size() == 4u);
}

// The earlier access counts only where the present one is unknown.
BOOST_AUTO_TEST_CASE(stacks_of_living_foreign_processes_that_were_own_are_denied, *needs_root()) {
  const NobodyProcess other_process;
  Recording recording(window_of(other_process.id()), {}, {}, true);
  recording.stacks().set_own_processes(std::vector{other_process.id()});
  record_stack(recording, other_process.id());
  BOOST_TEST((gap_of(recording, 0) == Gap::Denied));
}

BOOST_AUTO_TEST_CASE(the_access_is_determined_while_the_processes_live, *needs_root()) {
  const NobodyProcess other_process;
  RecorderProcesses processes(RequestedProcesses({}, "", proc().get(), false), proc().get(),
                              MappedCode::kTimeout, true);
  for (const std::uint64_t process : {kSelf, other_process.id(), kNoProcess})
    processes.note_access(process);
  RecordedWindow window, next_window;
  processes.take(window);
  processes.take(next_window);
  BOOST_TEST(window.own_processes == std::vector{kSelf}, boost::test_tools::per_element());
  BOOST_TEST(next_window.own_processes.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::file_capability_stacks_test
