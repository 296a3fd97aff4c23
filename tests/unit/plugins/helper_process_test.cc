// A helper process: it answers, it can be given up, and it holds nothing of ours.

#include <boost/test/unit_test.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ctprof/files.hpp"
#include "plugins/shared/helper_process.hpp"

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
  pid_t pid;
  std::array<char, 4096> text;
};

int proc() {
  static const ctprof::sdk::Fd directory(::open("/proc", O_RDONLY | O_DIRECTORY));
  return directory.get();
}

Area& area_of(const HelperView& view) { return *static_cast<Area*>(view.area); }
Area& area_of(const HelperProcess& helper) { return *static_cast<Area*>(helper.area()); }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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

bool is_gone(pid_t pid) {
  for (int i = 0; i < 500; ++i, ::usleep(10'000))
    if (::kill(pid, 0) != 0) return true;
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(helper_process_test)

BOOST_AUTO_TEST_CASE(it_answers_again_and_again) {
  HelperProcess helper(proc(), sizeof(Area), kLimits, [](const HelperView& view) {
    return [view] { area_of(view).number *= 3; };
  });
  BOOST_REQUIRE(helper.error() == 0);
  area_of(helper).number = 7;
  BOOST_TEST((helper.ask() == Reply::Answered));
  BOOST_TEST((helper.ask() == Reply::Answered));
  BOOST_TEST(area_of(helper).number == 63);
}

// Getting rid of it takes no time.
BOOST_AUTO_TEST_CASE(what_hangs_is_given_up) {
  const auto start = std::chrono::steady_clock::now();
  {
    HelperProcess helper(proc(), sizeof(Area), kLimits, [](const HelperView&) {
      return [] {
        for (;;) ::pause();
      };
    });
    BOOST_TEST((helper.ask() == Reply::Late));
    BOOST_TEST(seconds_since(start) >= ctprof::kHelperPatience * 0.9);
  }
  BOOST_TEST(seconds_since(start) < ctprof::kHelperPatience + 5);
}

BOOST_AUTO_TEST_CASE(what_takes_steps_is_waited_for) {
  HelperProcess helper(proc(), sizeof(Area), kLimits, [](const HelperView& view) {
    return [view] {
      for (int i = 0; i < 6 * ctprof::kHelperPatience; ++i, ++*view.steps) ::usleep(250'000);
    };
  });
  BOOST_TEST((helper.ask() == Reply::Answered));
}

// Whoever answers slowly, but always in time, is not waited for for ever.
BOOST_AUTO_TEST_CASE(steps_are_waited_for_no_longer_than_was_said) {
  HelperProcess helper(proc(), sizeof(Area), kLimits, [](const HelperView& view) {
    return [view] {
      for (;; ++*view.steps) ::usleep(100'000);
    };
  });
  int slices = 6 * 1000 / ctprof::kHelperSliceMs;
  const auto start = std::chrono::steady_clock::now();
  BOOST_TEST((helper.ask(slices) == Reply::Late));
  BOOST_TEST(slices == 0);
  BOOST_TEST(seconds_since(start) < 20);
}

BOOST_AUTO_TEST_CASE(what_computes_is_waited_for_where_that_is_wanted) {
  const auto compute = [](const HelperView&) {
    return [] {
      const auto start = std::chrono::steady_clock::now();
      while (seconds_since(start) < ctprof::kHelperPatience + 1.5) continue;
    };
  };
  HelperProcess patient(proc(), sizeof(Area), kBusyLimits, compute);
  BOOST_TEST((patient.ask() == Reply::Answered));
  HelperProcess impatient(proc(), sizeof(Area), kLimits, compute);
  BOOST_TEST((impatient.ask() == Reply::Late));
}

BOOST_AUTO_TEST_CASE(what_dies_is_gone) {
  HelperProcess dies(proc(), sizeof(Area), kLimits,
                     [](const HelperView&) { return [] { ::kill(::getpid(), SIGKILL); }; });
  BOOST_TEST((dies.ask() == Reply::Gone));
  BOOST_TEST((dies.ask() == Reply::Gone));
  HelperProcess throws(proc(), sizeof(Area), kLimits,
                       [](const HelperView&) { return [] { throw 1; }; });
  BOOST_TEST((throws.ask() == Reply::Gone));
}

BOOST_AUTO_TEST_CASE(it_holds_nothing_of_ours) {
  int pipe_ends[2];
  BOOST_REQUIRE(::pipe(pipe_ends) == 0);
  ::signal(SIGUSR1, [](int) {});
  HelperProcess helper(proc(), sizeof(Area), kLimits, [](const HelperView& view) {
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
  });
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
  const pid_t parent = ::fork();
  if (parent == 0) {
    HelperProcess helper(proc(), sizeof(Area), kLimits, [shared](const HelperView&) {
      return [shared] {
        shared->pid = ::getpid();
        for (;;) ::pause();
      };
    });
    helper.ask();
    ::pause();
  }
  for (int i = 0; i < 500 && shared->pid == 0; ++i) ::usleep(10'000);
  BOOST_REQUIRE(shared->pid != 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  BOOST_TEST(is_gone(shared->pid));
  ::munmap(shared, sizeof(Area));
}

BOOST_AUTO_TEST_SUITE_END()
