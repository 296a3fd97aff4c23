// Tests which processes are requested: the specified ids, and their descendants on request.

#include "core/capture/requested_processes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "core/capture/children.hpp"
#include "core/capture/identity_reader.hpp"

namespace requested_processes_test {
using namespace ctprof;

namespace {

sdk::Fd open_proc() { return sdk::Fd(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

// A child of this process that waits until it is destroyed.
class WaitingChild {
 public:
  WaitingChild() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  ~WaitingChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;
  std::uint64_t pid() const { return static_cast<std::uint64_t>(pid_); }

 private:
  pid_t pid_;
};

std::uint64_t start_time_of(int proc, std::uint64_t pid) {
  sdk::TextFile file;
  const auto text = file.read(proc, (std::to_string(pid) + "/stat").c_str());
  BOOST_REQUIRE(text);
  return parse_stat_identity(text.value)->start_time;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(requested_processes_test)

BOOST_AUTO_TEST_CASE(wants_descendants_of_the_specified_processes) {
  RequestedProcesses wanted({7}, "", -1, true);
  wanted.add_forked(8, 7);
  wanted.add_forked(9, 8);
  wanted.add_forked(20, 19);
  BOOST_TEST(wanted.contains(7));
  BOOST_TEST(wanted.contains(8));
  BOOST_TEST(wanted.contains(9));
  BOOST_TEST(!wanted.contains(19));
  BOOST_TEST(!wanted.contains(20));
  std::vector<std::uint64_t> followed = wanted.followed_processes();
  std::ranges::sort(followed);
  BOOST_TEST(followed == (std::vector<std::uint64_t>{8, 9}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(wants_only_the_specified_processes_without_inheritance) {
  RequestedProcesses wanted({7}, "", -1, false);
  wanted.add_forked(8, 7);
  BOOST_TEST(!wanted.contains(8));
  BOOST_TEST(wanted.followed_processes().empty());
}

// Records of an exited child may still arrive; later its id may belong to another process.
BOOST_AUTO_TEST_CASE(wants_a_child_until_another_process_reuses_its_id) {
  RequestedProcesses wanted({7}, "", -1, true);
  wanted.add_forked(8, 7);
  wanted.forget_exited(8);
  BOOST_TEST(wanted.contains(8));
  wanted.add_forked(8, 1);
  BOOST_TEST(!wanted.contains(8));
}

BOOST_AUTO_TEST_CASE(follows_no_children_if_all_processes_are_wanted) {
  RequestedProcesses wanted({}, "", -1, true);
  wanted.add_forked(8, 7);
  BOOST_TEST(wanted.contains(8));
  BOOST_TEST(wanted.followed_processes().empty());
}

BOOST_AUTO_TEST_CASE(finds_living_children_by_their_parents) {
  const sdk::Fd proc = open_proc();
  const WaitingChild child, sibling;
  const auto self = static_cast<std::uint64_t>(::getpid());
  const std::vector<std::uint64_t> found =
      find_descendants(proc.get(), {self}, start_time_of(proc.get(), child.pid()));
  BOOST_TEST(std::ranges::count(found, child.pid()) == 1);
  BOOST_TEST(std::ranges::count(found, sibling.pid()) == 1);
  BOOST_TEST(std::ranges::count(found, self) == 0);
  BOOST_TEST(find_descendants(proc.get(), {self}, UINT64_MAX).empty());
  BOOST_TEST(find_descendants(proc.get(), {child.pid()}, 0).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace requested_processes_test
