// A helper process: it answers, it can be given up, and it holds nothing of ours.

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
using ctprof::HelperProcess;
using ctprof::HelperView;
using Reply = HelperProcess::Reply;

namespace {

constexpr ctprof::HelperLimits kLimits{
    .cpu_seconds = 60, .more_memory = 1 << 30, .busy_is_alive = false};
constexpr ctprof::HelperLimits kBusyLimits{
    .cpu_seconds = 60, .more_memory = 1 << 30, .busy_is_alive = true};

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

Area& area_of(const HelperView& view) { return *static_cast<Area*>(view.area); }
Area& area_of(const HelperProcess& helper) { return *static_cast<Area*>(helper.area()); }

int wait_for_answer(int socket) {
  pollfd wanted{socket, POLLIN, 0};
  return ::poll(&wanted, 1, -1);
}

// Counts the slices of time of a request, and ends each by what a test does in it instead of by a
// clock. Waits for the helper to begin as long as that takes.
class Slices {
 public:
  // `passes` returns false when the answer is to be waited for.
  std::function<bool()> passes = [] { return true; };
  int count = 0;

  // Called when the helper is ready, before it is asked.
  void begin() { counts_ = true; }
  HelperProcess::Wait wait() {
    return [this](int socket) {
      if (!counts_ || !passes()) return wait_for_answer(socket);
      ++count;
      return 0;
    };
  }

 private:
  bool counts_ = false;
};

constexpr int kPatientSlices = ctprof::kHelperPatience * 1000 / ctprof::kHelperSliceMs;

// Requests that a helper take one step, and waits until it has.
void take_step(Area& area) {
  const int wanted = ++area.steps_wanted;
  while (area.steps_taken < wanted) ::sched_yield();
}

// What a helper does that takes steps on request, until there have been `most`.
ctprof::HelperProcess::Begin steps_on_request(int most) {
  return [most](const HelperView& view) {
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

// Computes until it is told to stop.
ctprof::HelperProcess::Serve compute(const HelperView& view) {
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

// Waits until a helper that computes has used more processor time.
void let_compute(const Area& area) {
  while (area.pid == 0) ::sched_yield();
  const std::int64_t before = processor_time(area.pid);
  while (processor_time(area.pid) == before) ::sched_yield();
}

// What descriptors lead to, each with a blank behind it.
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

BOOST_AUTO_TEST_CASE(it_answers_again_and_again) {
  HelperProcess helper(
      proc(), sizeof(Area), kLimits,
      [](const HelperView& view) { return [view] { area_of(view).number *= 3; }; },
      wait_for_answer);
  BOOST_REQUIRE(helper.error() == 0);
  area_of(helper).number = 7;
  BOOST_TEST((helper.ask() == Reply::Answered));
  BOOST_TEST((helper.ask() == Reply::Answered));
  BOOST_TEST(area_of(helper).number == 63);
}

BOOST_AUTO_TEST_CASE(what_hangs_is_given_up) {
  Slices slices;
  HelperProcess helper(
      proc(), sizeof(Area), kLimits,
      [](const HelperView&) {
        return [] {
          for (;;) ::pause();
        };
      },
      slices.wait());
  BOOST_REQUIRE(helper.error() == 0);
  slices.begin();
  BOOST_TEST((helper.ask() == Reply::Late));
  BOOST_TEST(slices.count == kPatientSlices);
}

BOOST_AUTO_TEST_CASE(what_takes_steps_is_waited_for) {
  constexpr int kSteps = 3 * kPatientSlices;
  Slices slices;
  HelperProcess helper(proc(), sizeof(Area), kLimits, steps_on_request(kSteps), slices.wait());
  BOOST_REQUIRE(helper.error() == 0);
  slices.passes = [&] {
    if (slices.count == kSteps) return false;
    take_step(area_of(helper));
    return true;
  };
  slices.begin();
  BOOST_TEST((helper.ask() == Reply::Answered));
  BOOST_TEST(slices.count == kSteps);
}

// Whoever answers slowly, but always in time, is not waited for for ever.
BOOST_AUTO_TEST_CASE(steps_are_waited_for_no_longer_than_was_said) {
  constexpr int kMost = 3 * kPatientSlices;
  Slices slices;
  HelperProcess helper(proc(), sizeof(Area), kLimits, steps_on_request(2 * kMost), slices.wait());
  BOOST_REQUIRE(helper.error() == 0);
  slices.passes = [&] {
    take_step(area_of(helper));
    return true;
  };
  slices.begin();
  int left = kMost;
  BOOST_TEST((helper.ask(left) == Reply::Late));
  BOOST_TEST(left == 0);
  BOOST_TEST(slices.count == kMost);
}

BOOST_AUTO_TEST_CASE(what_computes_is_waited_for_where_that_is_wanted) {
  constexpr int kMost = 3 * kPatientSlices;
  const auto reply_of = [](const ctprof::HelperLimits& limits, Slices& slices) {
    HelperProcess helper(proc(), sizeof(Area), limits, compute, slices.wait());
    BOOST_REQUIRE(helper.error() == 0);
    Area& area = area_of(helper);
    slices.passes = [&] {
      if (slices.count == kMost)
        area.stops = true;
      else
        let_compute(area);
      return !area.stops;
    };
    slices.begin();
    return helper.ask();
  };
  Slices patient, impatient;
  BOOST_TEST((reply_of(kBusyLimits, patient) == Reply::Answered));
  BOOST_TEST(patient.count == kMost);
  BOOST_TEST((reply_of(kLimits, impatient) == Reply::Late));
  BOOST_TEST(impatient.count == kPatientSlices);
}

BOOST_AUTO_TEST_CASE(what_dies_is_gone) {
  HelperProcess dies(
      proc(), sizeof(Area), kLimits,
      [](const HelperView&) { return [] { ::kill(::getpid(), SIGKILL); }; }, wait_for_answer);
  BOOST_TEST((dies.ask() == Reply::Gone));
  BOOST_TEST((dies.ask() == Reply::Gone));
  HelperProcess throws(
      proc(), sizeof(Area), kLimits, [](const HelperView&) { return [] { throw 1; }; },
      wait_for_answer);
  BOOST_TEST((throws.ask() == Reply::Gone));
}

BOOST_AUTO_TEST_CASE(it_holds_nothing_of_ours) {
  int pipe_ends[2];
  BOOST_REQUIRE(::pipe(pipe_ends) == 0);
  ::signal(SIGUSR1, [](int) {});
  const auto describe_itself = [](const HelperView& view) {
    return [view] {
      struct sigaction action {};
      ::sigaction(SIGUSR1, nullptr, &action);
      const std::string said = open_files() +
                               (action.sa_handler == SIG_DFL ? "default " : "handled ") +
                               status_field("NoNewPrivs") + ' ' + status_field("CapEff") + ' ' +
                               std::to_string(::prctl(PR_GET_DUMPABLE)) + ' ' +
                               std::to_string(::getsid(0) == ::getpid());
      std::memcpy(area_of(view).text.data(), said.c_str(), said.size() + 1);
    };
  };
  HelperProcess helper(proc(), sizeof(Area), kLimits, describe_itself, wait_for_answer);
  BOOST_REQUIRE((helper.ask() == Reply::Answered));
  const std::string said = area_of(helper).text.data();
  BOOST_TEST(said.starts_with("/dev/null /dev/null /dev/null socket:["), said);
  BOOST_TEST(said.find("pipe:") == said.npos, said);
  BOOST_TEST(said.find("] /proc default 1 ") != said.npos, said);
  BOOST_TEST(said.ends_with(" 0 1"), said);
  // CAP_NET_ADMIN and its like are not needed to read.
  const std::uint64_t left =
      std::strtoull(said.substr(said.rfind(" 0 1") - 16, 16).c_str(), nullptr, 16);
  BOOST_TEST((left & (1ULL << 12)) == 0u, said);
  ::signal(SIGUSR1, SIG_DFL);
  for (const int end : pipe_ends) ::close(end);
}

BOOST_AUTO_TEST_CASE(it_ends_with_us) {
  auto* const shared = static_cast<Area*>(
      ::mmap(nullptr, sizeof(Area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  // The helper becomes a child of this process when its parent ends.
  BOOST_REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto hang = [shared](const HelperView&) {
      return [shared] {
        shared->pid = ::getpid();
        for (;;) ::pause();
      };
    };
    HelperProcess helper(proc(), sizeof(Area), kLimits, hang, wait_for_answer);
    helper.ask();
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
