// taskstats as a plugin: what it promises, fills and tells on this host; with and without rights,
// and where there is nothing to ask.

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
// Takes the place of the C library's for the plugin, too: where it asks for more room, it gets next
// to none.
static bool next_to_no_room = false;
extern "C" __attribute__((visibility("default"))) int setsockopt(int socket, int level, int name,
                                                                 const void* value,
                                                                 socklen_t size) noexcept {
  const int least = 1;
  if (next_to_no_room && name == SO_RCVBUFFORCE) name = SO_RCVBUF, value = &least;
  return static_cast<int>(::syscall(SYS_setsockopt, socket, level, name, value, size));
}

namespace {

constexpr std::uint32_t kThreads = 0;
constexpr std::size_t kMetrics = 42;  // one of them hidden: when they were read
constexpr int kYoungThreads = 200;
constexpr ctprof_host_flags kLive = CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS;
constexpr std::uint64_t kNobody = 0x7ffffffe;  // beyond every pid_max
constexpr std::uint64_t kKernelThread = 2;     // kthreadd, in the initial PID namespace

const LoadedPlugin& plugin() {
  static const LoadedPlugin loaded("taskstats");
  return loaded;
}

std::uint64_t self() { return static_cast<std::uint64_t>(::getpid()); }

bool has_net_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  return ::syscall(SYS_capget, &header, sets.data()) == 0 &&
         (sets[0].effective & CAP_TO_MASK(CAP_NET_ADMIN)) != 0;
}

// For cases that only somebody with the capability can run.
auto needs_net_admin() {
  return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(has_net_admin());
    result.message() << "needs CAP_NET_ADMIN";
    return result;
  });
}

// Whether `before` and then `deed` come true in a child, which begins in these new namespaces: to
// leave some needs a process of one thread, and ThreadSanitizer has one of its own. An exception
// ends the child, so that it does not go on with other tests.
bool in_child(const std::function<bool()>& before, const std::function<bool()>& deed,
              unsigned long namespaces = 0) {
  const auto child =
      static_cast<pid_t>(::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, 0));
  const auto run = [&]() noexcept { return before() && deed(); };
  if (child == 0) ::_exit(run() ? 0 : 1);
  if (child < 0) return false;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A chroot, for one, may have none.
auto needs_user_namespaces() {
  return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
    const auto nothing = [] { return true; };
    boost::test_tools::assertion_result result(has_net_admin() &&
                                               in_child(nothing, nothing, CLONE_NEWUSER));
    result.message() << "needs CAP_NET_ADMIN, and leave to make user namespaces";
    return result;
  });
}

// How all metrics were refused, if they were for one reason; "" otherwise.
std::string one_refusal(const TestHost& host) {
  const auto refusals = SourceDriver(*plugin(), kThreads, host).probe();
  std::set<std::string> reasons;
  for (const auto& [metric, reason] : refusals) reasons.insert(reason);
  return refusals.size() == kMetrics && reasons.size() == 1 ? *reasons.begin() : "";
}

std::string field(const SourceDriver::Said& said, const std::string& key) {
  const auto it = std::find_if(said.fields.begin(), said.fields.end(),
                               [&](const auto& item) { return item.first == key; });
  return it == said.fields.end() ? "" : it->second;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(taskstats_plugin_test)

BOOST_AUTO_TEST_CASE(a_recorded_tree_has_nobody_to_ask) {
  const TestHost host(fixture("6.18"), {1, 1}, 0);
  BOOST_TEST(one_refusal(host).starts_with("Unsupported: taskstats come from the running kernel"));
}

BOOST_AUTO_TEST_CASE(another_pid_namespace_s_ids_mean_other_threads) {
  const TestHost host("", {self(), self()}, CTPROF_HOST_LIVE);
  BOOST_TEST(one_refusal(host).starts_with("Unsupported: "));
}

BOOST_AUTO_TEST_CASE(without_the_capability_all_is_denied,
                     *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
                       return boost::test_tools::assertion_result(::getuid() == 0);
                     })) {
  BOOST_TEST(in_child([] { return ::setgid(65534) == 0 && ::setuid(65534) == 0; },
                      [] {
                        const TestHost host("", {self(), self()}, kLive);
                        const std::string refusal = one_refusal(host);
                        return refusal.starts_with("Denied: ") &&
                               refusal.find("CAP_NET_ADMIN") != std::string::npos;
                      }));
}

BOOST_AUTO_TEST_CASE(root_of_another_user_namespace_is_denied, *needs_user_namespaces()) {
  BOOST_TEST(in_child(
      has_net_admin,
      [] {
        const TestHost host("", {self(), self()}, kLive);
        return one_refusal(host).starts_with("Denied: ");
      },
      CLONE_NEWUSER));
}

BOOST_AUTO_TEST_CASE(another_network_namespace_has_taskstats_too, *needs_net_admin()) {
  BOOST_TEST(
      in_child([] { return ::unshare(CLONE_NEWNET) == 0; },
               [] {
                 const TestHost host("", {self(), self()}, kLive);
                 return !SourceDriver(*plugin(), kThreads, host).probe().contains("run_time_ns");
               }));
}

// A new thread may have no run time yet, but was put on a CPU; with the coarse clocks of emulated
// machines, ctprof itself is that young.
BOOST_AUTO_TEST_CASE(a_thread_that_has_just_begun_is_accounted_for, *needs_net_admin()) {
  const TestHost host("", {self(), self()}, kLive);
  for (int i = 0; i < kYoungThreads; ++i) {
    bool refused = true;
    std::thread([&] {
      refused = SourceDriver(*plugin(), kThreads, host).probe().contains("run_time_ns");
    }).join();
    BOOST_TEST_REQUIRE(!refused);
  }
}

BOOST_AUTO_TEST_CASE(this_host, *needs_net_admin()) {
  const TestHost host("", {self(), self()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  const auto refusals = threads.probe();
  threads.collect({{self(), self()}, {self(), kNobody}, {kKernelThread, kKernelThread}});
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
  const TestHost host("", {self(), self()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  std::vector<Ids> ids(200, {self(), self()});  // more than go in one piece
  for (std::size_t i = 0; i < 30; ++i) ids[i * 6 + 1] = {self(), kNobody};
  threads.collect(ids, {"run_time_ns"});
  const auto said = threads.summary(ids.size());
  BOOST_TEST(field(said, "ok_count") == "170");
  BOOST_TEST(field(said, "eperm_count") == "0");
  BOOST_TEST(field(said, "esrch_count") == "30");
  BOOST_TEST(field(said, "other_err_count") == "0");
  BOOST_TEST(field(said, "asked_again_count") == "0");
  for (std::size_t i = 0; i < ids.size(); ++i)
    BOOST_TEST((threads.cell("run_time_ns", i) == "ThreadGone") == (ids[i].tid == kNobody),
               "row " << i);
}

// The kernel drops the answers that it has no room for, and says ENOBUFS.
BOOST_AUTO_TEST_CASE(answers_that_found_no_room_are_asked_for_again, *needs_net_admin()) {
  const TestHost host("", {self(), self()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  std::vector<Ids> ids(200, {self(), self()});
  for (std::size_t i = 0; i < ids.size(); i += 3) ids[i] = {1, 1};
  next_to_no_room = true;
  threads.collect(ids, {"hiwater_vm_bytes"});
  next_to_no_room = false;
  const auto said = threads.summary(ids.size());
  BOOST_TEST(field(said, "ok_count") == "200");
  BOOST_TEST(std::stoul(field(said, "asked_again_count")) > 100u);
  BOOST_TEST(threads.cell("hiwater_vm_bytes", 0) != threads.cell("hiwater_vm_bytes", 1));
  for (std::size_t i = 0; i < ids.size(); ++i)
    BOOST_TEST(
        threads.cell("hiwater_vm_bytes", i) == threads.cell("hiwater_vm_bytes", i % 3 == 0 ? 0 : 1),
        "row " << i);
}

BOOST_AUTO_TEST_CASE(who_loses_the_capability_later_is_denied, *needs_net_admin()) {
  BOOST_TEST(in_child([] { return ::setgid(65534) == 0 && ::setuid(65534) == 0; },
                      [] {
                        const TestHost host("", {self(), self()}, kLive);
                        SourceDriver threads(*plugin(), kThreads, host);
                        threads.collect({{self(), self()}});
                        const auto said = threads.summary(1);
                        return threads.cell("blkio_delay_count", 0) == "Denied" &&
                               field(said, "eperm_count") == "1";
                      }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace taskstats_plugin_test
