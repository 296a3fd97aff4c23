// Probes a program that replaces itself all the time. The program must keep running, and no value
// may come from another program's memory.
//
// Contents:  thread_pointer_reader.hpp and the whole plugin, with a target that calls execv from
// any of its threads.
// See also:  harm_test.cc, for targets that do not replace themselves.

#define BOOST_TEST_MODULE jemalloc_exec
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>

#include "tests/jemalloc/target.hpp"
#include "tests/unit/support/loaded_plugin.hpp"
#include "tests/unit/support/source_driver.hpp"

namespace {

// Allocated by each thread except the main thread; a size class of jemalloc, so it is not rounded.
constexpr std::uint64_t kBytes = 20480;
constexpr std::uint64_t kMostOfMainThread = 10'000'000;  // the main thread only starts threads

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Runs the target and counts its starts, one byte each.
class ReplacingTarget {
 public:
  ReplacingTarget() {
    if (::pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
    pid_ = start_child([this] {
      ::dup2(pipe_[1], STDOUT_FILENO);
      const std::string program = environment_value("EXEC_AGAIN_PROGRAM");
      ::execl(program.c_str(), program.c_str(), environment_value("LIBJEMALLOC").c_str(),
              environment_value("EXEC_JUNK").c_str(), nullptr);
      ::_exit(1);
    });
  }
  ReplacingTarget(const ReplacingTarget&) = delete;
  ReplacingTarget& operator=(const ReplacingTarget&) = delete;
  ~ReplacingTarget() {
    end_child(pid_, SIGKILL);
    ::close(pipe_[0]), ::close(pipe_[1]);
  }

  pid_t pid() const { return pid_; }

  // Must be called regularly, because the target exits when the pipe is full.
  std::uint64_t count_starts() {
    std::array<char, 4096> bytes;
    for (ssize_t count; (count = ::read(pipe_[0], bytes.data(), bytes.size())) > 0;)
      starts_ += static_cast<std::uint64_t>(count);
    return starts_;
  }

  bool keeps_running() {
    const std::uint64_t before = count_starts();
    return wait_until([&] { return count_starts() > before + 3; });
  }

 private:
  std::array<int, 2> pipe_{};
  pid_t pid_ = 0;
  std::uint64_t starts_ = 0;
};

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789") == cell.npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_target_that_replaces_itself_keeps_running) {
  ReplacingTarget target;
  BOOST_REQUIRE(target.keeps_running());
  std::map<ProbeStep, int> outcomes;
  while (target.count_starts() < kRounds) {
    auto tracees = tracees_of(target.pid());
    ctprof::jemalloc::ThreadPointerReader(open_proc()).read(tracees);
    for (const Tracee& tracee : tracees) ++outcomes[tracee.outcome.failed_step];
  }
  BOOST_TEST(outcomes[ProbeStep::Done] > kRounds);
  BOOST_TEST(outcomes.size() > 1u);  // some threads exited: it was replaced in between
  BOOST_TEST(target.keeps_running());
  BOOST_TEST(wait_until([&] { return is_untraced(target.pid()); }));
}

BOOST_AUTO_TEST_CASE(no_value_comes_from_another_programs_memory,
                     *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
                       return boost::test_tools::assertion_result(
                           !environment_value("LIBJEMALLOC").empty());
                     })) {
  ReplacingTarget target;
  BOOST_REQUIRE(target.keeps_running());
  const auto pid = static_cast<std::uint64_t>(target.pid());
  const TestHost host("", {pid, pid}, CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS);
  const LoadedPlugin plugin("jemalloc-ptrace");
  SourceDriver source(*plugin, 0, host);
  std::map<std::string, int> cells;
  while (target.count_starts() < kRounds) {
    std::vector<Ids> ids;
    for (const pid_t tid : threads_of(target.pid()))
      ids.push_back({pid, static_cast<std::uint64_t>(tid)});
    source.collect(ids);
    for (std::size_t row = 0; row < ids.size(); ++row) {
      const bool is_main_thread = ids[row].tid == pid;
      const std::string allocated = source.cell("allocated_bytes", row),
                        freed = source.cell("deallocated_bytes", row);
      BOOST_TEST(is_number(allocated) == is_number(freed));
      if (is_main_thread && is_number(allocated))
        BOOST_TEST(std::stoull(freed) <= std::stoull(allocated));
      if (is_main_thread && is_number(allocated))
        BOOST_TEST(std::stoull(allocated) < kMostOfMainThread);
      if (!is_main_thread && is_number(freed)) BOOST_TEST(freed == "0");
      if (!is_main_thread) ++cells[allocated];
    }
  }
  BOOST_TEST(cells[std::to_string(kBytes)] > kRounds / 10);
  BOOST_TEST(cells["NotApplicable"] > kRounds / 10);
  for (const auto& [cell, count] : cells) {
    BOOST_TEST_MESSAGE(cell << ": " << count);
    const bool is_expected = cell == "0" || cell == std::to_string(kBytes) ||
                             cell == "NotApplicable" || cell == "ThreadGone" || cell == "Busy";
    BOOST_TEST(is_expected, cell);
  }
  BOOST_TEST(target.keeps_running());
}
