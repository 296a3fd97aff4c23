// Tests a helper process: its answers, its timeouts, and that it inherits no resources.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "ctprof/files.hpp"
#include "plugins/shared/helper_process.hpp"

namespace helper_process_test {
using ctprof::HelperContext;
using ctprof::HelperProcess;
using Reply = HelperProcess::Reply;

namespace {

constexpr ctprof::HelperLimits kLimits{
    .cpu_seconds = 60, .extra_memory = 1 << 30, .cpu_time_is_progress = false};
constexpr ctprof::HelperLimits kBusyLimits{
    .cpu_seconds = 60, .extra_memory = 1 << 30, .cpu_time_is_progress = true};

struct Area {
  int number;
  std::atomic<pid_t> pid;
  std::atomic<int> steps_wanted, steps_taken;
  std::atomic<bool> stops;
  std::array<char, 4096> text;
};

int proc() {
  static const ctprof::sdk::Fd directory(::open("/proc", O_RDONLY | O_DIRECTORY));
  return directory.get();
}

Area& area_of(const HelperContext& view) { return *static_cast<Area*>(view.area); }
Area& area_of(const HelperProcess& helper) { return *static_cast<Area*>(helper.area()); }

int wait_for_answer(int socket) {
  pollfd wanted{socket, POLLIN, 0};
  return ::poll(&wanted, 1, -1);
}

// Replaces the time slices of a request by events of the test, and counts them. Waits without limit
// until the helper is ready.
class SliceCounter {
 public:
  // Returns false to wait for the answer instead of ending a slice.
  std::function<bool()> ends_slice = [] { return true; };
  int count = 0;

  // Must be called when the helper is ready, before a request.
  void begin() { counts_ = true; }
  HelperProcess::WaitFunction wait() {
    return [this](int socket) {
      if (!counts_ || !ends_slice()) return wait_for_answer(socket);
      ++count;
      return 0;
    };
  }

 private:
  bool counts_ = false;
};

constexpr int kSlicesUntilTimeout = ctprof::kHelperTimeoutSeconds * 1000 / ctprof::kHelperSliceMs;

// Requests one step from the helper, and waits until it is done.
void take_step(Area& area) {
  const int wanted = ++area.steps_wanted;
  while (area.steps_taken < wanted) ::sched_yield();
}

// Returns a helper function that takes steps on request, `most` in total.
ctprof::HelperProcess::StartFunction steps_on_request(int most) {
  return [most](const HelperContext& view) {
    return [view, most] {
      Area& area = area_of(view);
      while (area.steps_taken < most) {
        while (area.steps_wanted == area.steps_taken) ::sched_yield();
        ++*view.steps;
        ++area.steps_taken;
      }
    };
  };
}

// Runs until the test sets `stops`.
ctprof::HelperProcess::RequestHandler run_until_stopped(const HelperContext& view) {
  return [view] {
    area_of(view).pid = ::getpid();
    while (!area_of(view).stops) continue;
  };
}

std::int64_t processor_time(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return -1;
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Waits until the helper has used more CPU time.
void wait_for_cpu_time(const Area& area) {
  while (area.pid == 0) ::sched_yield();
  const std::int64_t before = processor_time(area.pid);
  while (processor_time(area.pid) == before) ::sched_yield();
}

// Returns the targets of all descriptors, each followed by a blank.
std::string open_files() {
  std::string all;
  for (int fd = 0; fd < 256; ++fd) {
    std::array<char, 256> to{};
    if (::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), to.data(), to.size() - 1) > 0)
      all += std::string(to.data()) + ' ';
  }
  return all;
}

std::string status_field(const char* key) {
  ctprof::sdk::TextFile file;
  const auto text = file.read(AT_FDCWD, "/proc/self/status");
  const auto value = ctprof::sdk::value_of(text.value, key);
  return std::string(value ? value.value : "?");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(helper_process_test)

BOOST_AUTO_TEST_CASE(a_helper_answers_several_requests) {
  HelperProcess helper(
      proc(), sizeof(Area), kLimits,
      [](const HelperContext& view) { return [view] { area_of(view).number *= 3; }; },
      wait_for_answer);
  BOOST_REQUIRE(helper.error() == 0);
  area_of(helper).number = 7;
  BOOST_TEST((helper.request() == Reply::Answered));
  BOOST_TEST((helper.request() == Reply::Answered));
  BOOST_TEST(area_of(helper).number == 63);
}

BOOST_AUTO_TEST_CASE(stops_waiting_for_a_hanging_helper) {
  SliceCounter slices;
  HelperProcess helper(
      proc(), sizeof(Area), kLimits,
      [](const HelperContext&) {
        return [] {
          for (;;) ::pause();
        };
      },
      slices.wait());
  BOOST_REQUIRE(helper.error() == 0);
  slices.begin();
  BOOST_TEST((helper.request() == Reply::TimedOut));
  BOOST_TEST(slices.count == kSlicesUntilTimeout);
}

BOOST_AUTO_TEST_CASE(waits_for_a_helper_that_makes_progress) {
  constexpr int kSteps = 3 * kSlicesUntilTimeout;
  SliceCounter slices;
  HelperProcess helper(proc(), sizeof(Area), kLimits, steps_on_request(kSteps), slices.wait());
  BOOST_REQUIRE(helper.error() == 0);
  slices.ends_slice = [&] {
    if (slices.count == kSteps) return false;
    take_step(area_of(helper));
    return true;
  };
  slices.begin();
  BOOST_TEST((helper.request() == Reply::Answered));
  BOOST_TEST(slices.count == kSteps);
}

// A helper that makes progress in each slice must not be waited for without limit.
BOOST_AUTO_TEST_CASE(limits_the_wait_for_a_helper_that_makes_progress) {
  constexpr int kMaxSteps = 3 * kSlicesUntilTimeout;
  SliceCounter slices;
  HelperProcess helper(proc(), sizeof(Area), kLimits, steps_on_request(2 * kMaxSteps),
                       slices.wait());
  BOOST_REQUIRE(helper.error() == 0);
  slices.ends_slice = [&] {
    take_step(area_of(helper));
    return true;
  };
  slices.begin();
  int left = kMaxSteps;
  BOOST_TEST((helper.request(left) == Reply::TimedOut));
  BOOST_TEST(left == 0);
  BOOST_TEST(slices.count == kMaxSteps);
}

BOOST_AUTO_TEST_CASE(waits_for_a_busy_helper_only_on_request) {
  constexpr int kMaxSteps = 3 * kSlicesUntilTimeout;
  const auto reply_of = [](const ctprof::HelperLimits& limits, SliceCounter& slices) {
    HelperProcess helper(proc(), sizeof(Area), limits, run_until_stopped, slices.wait());
    BOOST_REQUIRE(helper.error() == 0);
    Area& area = area_of(helper);
    slices.ends_slice = [&] {
      if (slices.count == kMaxSteps)
        area.stops = true;
      else
        wait_for_cpu_time(area);
      return !area.stops;
    };
    slices.begin();
    return helper.request();
  };
  SliceCounter slow_answers, impatient;
  BOOST_TEST((reply_of(kBusyLimits, slow_answers) == Reply::Answered));
  BOOST_TEST(slow_answers.count == kMaxSteps);
  BOOST_TEST((reply_of(kLimits, impatient) == Reply::TimedOut));
  BOOST_TEST(impatient.count == kSlicesUntilTimeout);
}

BOOST_AUTO_TEST_CASE(reports_a_helper_that_exited) {
  HelperProcess exiting_helper(
      proc(), sizeof(Area), kLimits,
      [](const HelperContext&) { return [] { ::kill(::getpid(), SIGKILL); }; }, wait_for_answer);
  BOOST_TEST((exiting_helper.request() == Reply::Unavailable));
  BOOST_TEST((exiting_helper.request() == Reply::Unavailable));
  HelperProcess throwing_helper(
      proc(), sizeof(Area), kLimits, [](const HelperContext&) { return [] { throw 1; }; },
      wait_for_answer);
  BOOST_TEST((throwing_helper.request() == Reply::Unavailable));
}

BOOST_AUTO_TEST_CASE(a_helper_inherits_no_descriptors_handlers_or_rights) {
  int pipe_ends[2];
  BOOST_REQUIRE(::pipe(pipe_ends) == 0);
  ::signal(SIGUSR1, [](int) {});
  const auto describe_itself = [](const HelperContext& view) {
    return [view] {
      struct sigaction action {};
      ::sigaction(SIGUSR1, nullptr, &action);
      const std::string description = open_files() +
                                      (action.sa_handler == SIG_DFL ? "default " : "handled ") +
                                      status_field("NoNewPrivs") + ' ' + status_field("CapEff") +
                                      ' ' + std::to_string(::prctl(PR_GET_DUMPABLE)) + ' ' +
                                      std::to_string(::getsid(0) == ::getpid());
      std::memcpy(area_of(view).text.data(), description.c_str(), description.size() + 1);
    };
  };
  HelperProcess helper(proc(), sizeof(Area), kLimits, describe_itself, wait_for_answer);
  BOOST_REQUIRE((helper.request() == Reply::Answered));
  const std::string description = area_of(helper).text.data();
  BOOST_TEST(description.starts_with("/dev/null /dev/null /dev/null socket:["), description);
  BOOST_TEST(description.find("pipe:") == description.npos, description);
  BOOST_TEST(description.find("] /proc default 1 ") != description.npos, description);
  BOOST_TEST(description.ends_with(" 0 1"), description);
  // Reading does not need capabilities such as CAP_NET_ADMIN.
  const std::uint64_t left =
      std::strtoull(description.substr(description.rfind(" 0 1") - 16, 16).c_str(), nullptr, 16);
  BOOST_TEST((left & (1ULL << 12)) == 0u, description);
  ::signal(SIGUSR1, SIG_DFL);
  for (const int end : pipe_ends) ::close(end);
}

BOOST_AUTO_TEST_CASE(a_helper_exits_with_its_parent) {
  auto* const shared = static_cast<Area*>(
      ::mmap(nullptr, sizeof(Area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  // The helper becomes a child of this process when its parent exits.
  BOOST_REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto hang = [shared](const HelperContext&) {
      return [shared] {
        shared->pid = ::getpid();
        for (;;) ::pause();
      };
    };
    HelperProcess helper(proc(), sizeof(Area), kLimits, hang, wait_for_answer);
    helper.request();
    ::_exit(1);
  }
  while (shared->pid == 0) ::sched_yield();
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  int status = 0;
  BOOST_TEST(::waitpid(shared->pid, &status, 0) == shared->pid);
  BOOST_TEST(WIFSIGNALED(status));
  BOOST_TEST(::prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
  ::munmap(shared, sizeof(Area));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace helper_process_test
