// Tests the plugin taskstats on this host: its offers, values and summary, with and without rights,
// and on hosts without taskstats.

#include <boost/test/unit_test.hpp>

#include <linux/capability.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "tests/unit/support/fixtures.hpp"
#include "tests/unit/support/loaded_plugin.hpp"
#include "tests/unit/support/source_driver.hpp"

namespace taskstats_plugin_test {
// Replaces setsockopt() of the C library, also for the plugin. On request it gives the plugin a
// minimal receive buffer.
static bool has_minimal_buffer = false;
extern "C" __attribute__((visibility("default"))) int setsockopt(int socket, int level, int name,
                                                                 const void* value,
                                                                 socklen_t size) noexcept {
  const int least = 1;
  if (has_minimal_buffer && name == SO_RCVBUFFORCE) name = SO_RCVBUF, value = &least;
  return static_cast<int>(::syscall(SYS_setsockopt, socket, level, name, value, size));
}

namespace {

constexpr std::uint32_t kThreads = 0;
constexpr std::size_t kMetrics = 42;  // one of them hidden: the time of reading
constexpr int kYoungThreads = 200;
constexpr ctprof_host_flags kLive = CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS;
constexpr std::uint64_t kMissingPid = 0x7ffffffe;  // above every pid_max
constexpr std::uint64_t kKernelThread = 2;         // kthreadd, in the initial PID namespace

const LoadedPlugin& plugin() {
  static const LoadedPlugin loaded("taskstats");
  return loaded;
}

std::uint64_t own_pid() { return static_cast<std::uint64_t>(::getpid()); }

bool has_net_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  return ::syscall(SYS_capget, &header, sets.data()) == 0 &&
         (sets[0].effective & CAP_TO_MASK(CAP_NET_ADMIN)) != 0;
}

// A precondition for cases that need the capability.
auto needs_net_admin() {
  return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(has_net_admin());
    result.message() << "needs CAP_NET_ADMIN";
    return result;
  });
}

// Returns whether `prepare` and then `operation` return true in a child with these new namespaces.
// Leaving some namespaces requires a single-threaded process, and ThreadSanitizer adds a thread. An
// exception terminates the child, so that it does not run other tests.
bool run_in_child(const std::function<bool()>& prepare, const std::function<bool()>& operation,
                  unsigned long namespaces = 0) {
  const auto child =
      static_cast<pid_t>(::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, 0));
  const auto run = [&]() noexcept { return prepare() && operation(); };
  if (child == 0) ::_exit(run() ? 0 : 1);
  if (child < 0) return false;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A process in a chroot may not create user namespaces.
auto needs_user_namespaces() {
  return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
    const auto nothing = [] { return true; };
    boost::test_tools::assertion_result result(has_net_admin() &&
                                               run_in_child(nothing, nothing, CLONE_NEWUSER));
    result.message() << "needs CAP_NET_ADMIN, and leave to make user namespaces";
    return result;
  });
}

// Returns the refusal if all metrics were refused for the same reason, else "".
std::string common_refusal(const TestHost& host) {
  const auto refusals = SourceDriver(*plugin(), kThreads, host).probe();
  std::set<std::string> reasons;
  for (const auto& [metric, reason] : refusals) reasons.insert(reason);
  return refusals.size() == kMetrics && reasons.size() == 1 ? *reasons.begin() : "";
}

std::string field(const SourceDriver::SummaryLines& summary, const std::string& key) {
  const auto it = std::find_if(summary.fields.begin(), summary.fields.end(),
                               [&](const auto& item) { return item.first == key; });
  return it == summary.fields.end() ? "" : it->second;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(taskstats_plugin_test)

BOOST_AUTO_TEST_CASE(refuses_a_recorded_tree) {
  const TestHost host(fixture_path("6.18"), {1, 1}, 0);
  BOOST_TEST(
      common_refusal(host).starts_with("Unsupported: taskstats come from the running kernel"));
}

BOOST_AUTO_TEST_CASE(refuses_ids_of_another_pid_namespace) {
  const TestHost host("", {own_pid(), own_pid()}, CTPROF_HOST_LIVE);
  BOOST_TEST(common_refusal(host).starts_with("Unsupported: "));
}

BOOST_AUTO_TEST_CASE(denies_all_metrics_without_the_capability,
                     *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
                       return boost::test_tools::assertion_result(::getuid() == 0);
                     })) {
  BOOST_TEST(run_in_child([] { return ::setgid(65534) == 0 && ::setuid(65534) == 0; },
                          [] {
                            const TestHost host("", {own_pid(), own_pid()}, kLive);
                            const std::string refusal = common_refusal(host);
                            return refusal.starts_with("Denied: ") &&
                                   refusal.find("CAP_NET_ADMIN") != std::string::npos;
                          }));
}

BOOST_AUTO_TEST_CASE(denies_root_of_another_user_namespace, *needs_user_namespaces()) {
  BOOST_TEST(run_in_child(
      has_net_admin,
      [] {
        const TestHost host("", {own_pid(), own_pid()}, kLive);
        return common_refusal(host).starts_with("Denied: ");
      },
      CLONE_NEWUSER));
}

BOOST_AUTO_TEST_CASE(works_in_another_network_namespace, *needs_net_admin()) {
  BOOST_TEST(run_in_child(
      [] { return ::unshare(CLONE_NEWNET) == 0; },
      [] {
        const TestHost host("", {own_pid(), own_pid()}, kLive);
        return !SourceDriver(*plugin(), kThreads, host).probe().contains("run_time_ns");
      }));
}

// A new thread may have no run time yet although it ran on a CPU, because emulated machines have
// coarse clocks.
BOOST_AUTO_TEST_CASE(reads_a_thread_that_just_started, *needs_net_admin()) {
  const TestHost host("", {own_pid(), own_pid()}, kLive);
  for (int i = 0; i < kYoungThreads; ++i) {
    bool refused = true;
    std::thread([&] {
      refused = SourceDriver(*plugin(), kThreads, host).probe().contains("run_time_ns");
    }).join();
    BOOST_TEST_REQUIRE(!refused);
  }
}

BOOST_AUTO_TEST_CASE(reads_threads_of_this_host, *needs_net_admin()) {
  const TestHost host("", {own_pid(), own_pid()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  const auto refusals = threads.probe();
  threads.collect(
      {{own_pid(), own_pid()}, {own_pid(), kMissingPid}, {kKernelThread, kKernelThread}});
  for (const auto& [metric, gaps] : threads.gaps()) BOOST_TEST_CONTEXT(metric) {
      BOOST_TEST(!gaps.contains("Untouched"));
      BOOST_TEST((refusals.contains(metric) || gaps.contains("None")));
      BOOST_TEST(threads.cell(metric, 1) == "ThreadGone");
    }
  BOOST_TEST(std::stoull(threads.cell("run_time_ns", 0)) > 0u);
  BOOST_TEST(threads.cell("run_time_ns", 0) != threads.cell("wait_time_ns", 0));
  BOOST_TEST(threads.cell("cpu_delay_total_ns", 0) == threads.cell("wait_time_ns", 0));
  BOOST_TEST(std::stoull(threads.cell("hiwater_vm_bytes", 0)) % 1024 == 0u);
  if (::access("/proc/2/exe", F_OK) != 0)
    BOOST_TEST(threads.cell("hiwater_vm_bytes", 2) == "NotApplicable");
}

BOOST_AUTO_TEST_CASE(the_summary_counts_threads, *needs_net_admin()) {
  const TestHost host("", {own_pid(), own_pid()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  std::vector<Ids> ids(200, {own_pid(), own_pid()});  // exceeds one batch
  for (std::size_t i = 0; i < 30; ++i) ids[i * 6 + 1] = {own_pid(), kMissingPid};
  threads.collect(ids, {"run_time_ns"});
  const auto summary = threads.summary(ids.size());
  BOOST_TEST(field(summary, "ok_count") == "170");
  BOOST_TEST(field(summary, "eperm_count") == "0");
  BOOST_TEST(field(summary, "esrch_count") == "30");
  BOOST_TEST(field(summary, "other_err_count") == "0");
  BOOST_TEST(field(summary, "asked_again_count") == "0");
  for (std::size_t i = 0; i < ids.size(); ++i)
    BOOST_TEST((threads.cell("run_time_ns", i) == "ThreadGone") == (ids[i].tid == kMissingPid),
               "row " << i);
}

// The kernel drops answers that exceed the buffer, and reports ENOBUFS.
BOOST_AUTO_TEST_CASE(repeats_requests_after_dropped_answers, *needs_net_admin()) {
  const TestHost host("", {own_pid(), own_pid()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  std::vector<Ids> ids(200, {own_pid(), own_pid()});
  for (std::size_t i = 0; i < ids.size(); i += 3) ids[i] = {1, 1};
  has_minimal_buffer = true;
  threads.collect(ids, {"hiwater_vm_bytes"});
  has_minimal_buffer = false;
  const auto summary = threads.summary(ids.size());
  BOOST_TEST(field(summary, "ok_count") == "200");
  BOOST_TEST(std::stoul(field(summary, "asked_again_count")) > 100u);
  BOOST_TEST(threads.cell("hiwater_vm_bytes", 0) != threads.cell("hiwater_vm_bytes", 1));
  for (std::size_t i = 0; i < ids.size(); ++i)
    BOOST_TEST(
        threads.cell("hiwater_vm_bytes", i) == threads.cell("hiwater_vm_bytes", i % 3 == 0 ? 0 : 1),
        "row " << i);
}

BOOST_AUTO_TEST_CASE(denies_reads_after_the_capability_is_lost, *needs_net_admin()) {
  BOOST_TEST(run_in_child([] { return ::setgid(65534) == 0 && ::setuid(65534) == 0; },
                          [] {
                            const TestHost host("", {own_pid(), own_pid()}, kLive);
                            SourceDriver threads(*plugin(), kThreads, host);
                            threads.collect({{own_pid(), own_pid()}});
                            const auto summary = threads.summary(1);
                            return threads.cell("blkio_delay_count", 0) == "Denied" &&
                                   field(summary, "eperm_count") == "1";
                          }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace taskstats_plugin_test
