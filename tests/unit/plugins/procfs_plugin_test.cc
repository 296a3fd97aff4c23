// Tests the plugin procfs-sched: the offers, values, gaps and summaries of its sources, on recorded
// kernels and on this host.

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/unit/support/files.hpp"
#include "tests/unit/support/fixtures.hpp"
#include "tests/unit/support/loaded_plugin.hpp"
#include "tests/unit/support/source_driver.hpp"

namespace procfs_plugin_test {
namespace {

constexpr std::uint32_t kThreads = 0;
constexpr std::uint32_t kProcesses = 1;
constexpr ctprof_host_flags kLive = CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS;
constexpr std::uint64_t kMissingPid = 0x7ffffffe;  // above every pid_max

const LoadedPlugin& plugin() {
  static const LoadedPlugin loaded("procfs-sched");
  return loaded;
}

std::uint64_t self() { return static_cast<std::uint64_t>(::getpid()); }

bool refused(const std::map<std::string, std::string>& refusals, const std::string& metric,
             const std::string& beginning) {
  const auto it = refusals.find(metric);
  return it != refusals.end() && it->second.starts_with(beginning);
}

// Returns (tgid, tid) of all threads of a recorded tree.
std::vector<Ids> recorded_threads(const std::string& root) {
  std::vector<Ids> found;
  for (const auto& process : std::filesystem::directory_iterator(root + "/proc")) {
    if (!std::isdigit(static_cast<unsigned char>(process.path().filename().string()[0]))) continue;
    for (const auto& task : std::filesystem::directory_iterator(process.path() / "task"))
      found.push_back(
          {std::stoull(process.path().filename()), std::stoull(task.path().filename())});
  }
  return found;
}

// Runs `operation` in a child without privileges; returns the exit status of the child.
int run_as_nobody(const std::function<bool()>& operation) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setgid(65534) == 0 && ::setuid(65534) == 0 && operation() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(procfs_plugin_test)

BOOST_AUTO_TEST_CASE(refuses_metrics_that_5_10_lacks) {
  const TestHost host(fixture_path("5.10"), {1, 1}, 0);
  const auto refusals = SourceDriver(*plugin(), kThreads, host).probe();
  for (const char* metric :
       {"block_sum", "voluntary_sleep_ns", "core_forceidle_sum", "ext_enabled", "fair_slice_ns"})
    BOOST_TEST(refused(refusals, metric, "Unsupported: "), metric);
  BOOST_TEST(refusals.size() == 5u);
}

BOOST_AUTO_TEST_CASE(refuses_metrics_that_7_2_lacks) {
  const TestHost host(fixture_path("7.2"), {1, 1}, 0);
  const auto refusals = SourceDriver(*plugin(), kThreads, host).probe();
  BOOST_TEST(refusals.size() == 1u);
  BOOST_TEST(refused(refusals, "core_forceidle_sum", "Unsupported: "));
}

BOOST_AUTO_TEST_CASE(names_a_switch_that_is_off) {
  const TestHost host(fixture_path("6.18-schedstats-off"), {151, 151}, 0);
  const auto refusals = SourceDriver(*plugin(), kThreads, host).probe();
  BOOST_TEST(refusals.size() == 23u);
  BOOST_TEST(refused(refusals, "wait_sum", "SwitchedOff: kernel.sched_schedstats is 0"));
  BOOST_TEST(refused(refusals, "voluntary_sleep_ns", "SwitchedOff: "));
  BOOST_TEST(!refusals.contains("nr_migrations"));
}

BOOST_AUTO_TEST_CASE(reads_recorded_threads) {
  const TestHost host(fixture_path("6.18"), {1, 1}, 0);
  SourceDriver threads(*plugin(), kThreads, host);
  threads.collect({{1, 1}, {151, 178}, {151, 169}, {151, 165}, {151, kMissingPid}});
  BOOST_TEST(threads.cell("policy", 0) == "SCHED_OTHER");
  BOOST_TEST(threads.cell("run_time_ns", 0) == "1888866514");
  BOOST_TEST(threads.cell("wait_sum", 0) == "467558028");
  BOOST_TEST(threads.cell("cpu_affinity", 0) == "3");
  BOOST_TEST(threads.cell("nr_threads", 0) == "1");
  BOOST_TEST(threads.cell("ext_enabled", 0) == "false");
  BOOST_TEST(threads.cell("state", 1) == "R");
  BOOST_TEST(threads.cell("nr_threads", 1) == "NotApplicable");
  BOOST_TEST(threads.cell("policy", 2) == "SCHED_DEADLINE");
  BOOST_TEST(threads.cell("priority", 2) == "-101");
  BOOST_TEST(threads.cell("fair_slice_ns", 3) == "NotApplicable");
  // collect() reports a missing key as switched off; only probe(), which did not run, reports it as
  // unsupported.
  BOOST_TEST(threads.cell("core_forceidle_sum", 0) == "SwitchedOff");
  for (const char* metric :
       {"policy", "run_time_ns", "rchar", "state", "wait_sum", "cpu_affinity", "nr_threads"})
    BOOST_TEST(threads.cell(metric, 4) == "Unsupported", metric);  // not recorded
}

BOOST_AUTO_TEST_CASE(reads_recorded_processes) {
  const TestHost host(fixture_path("6.18"), {1, 1}, 0);
  SourceDriver processes(*plugin(), kProcesses, host);
  processes.collect({{151, 151}, {2, 2}, {154, 154}, {1, 1}});
  BOOST_TEST(processes.cell("process.smaps_rollup", 0).starts_with("Rss=3056 Pss=2627 "));
  BOOST_TEST(processes.cell("process.smaps_rollup", 1) == "NotApplicable");  // a kernel thread
  BOOST_TEST(processes.cell("process.smaps_rollup", 2) == "NotApplicable");  // a zombie
  BOOST_TEST(processes.cell("process.smaps_rollup", 3) == "Unsupported");    // not recorded
  BOOST_TEST(processes.cell("rss_bytes", 0) == "Unsupported");
}

// If the main thread has exited, its statm file contains zeroes and its smaps_rollup file is empty.
BOOST_AUTO_TEST_CASE(reads_memory_through_a_living_thread) {
  const TemporaryDirectory root;
  const std::string process = root / "proc/7";
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(process + file).parent_path());
    std::ofstream(process + file) << text;
  };
  for (const char* exited : {"", "/task/7"})
    write(std::string(exited) + "/statm", "0 0 0 0 0 0 0\n");
  write("/stat", "7 (made) Z 1 7 7 0 -1 4194304 0 0 0 0\n");
  write("/task/9/statm", "100 50 10 1 0 20 0\n");
  write("/task/9/smaps_rollup",
        "1000-2000 ---p 00000000 00:00 0   [rollup]\nRss:                 200 kB\n");
  const TestHost host(root.path(), {7, 7}, 0);
  SourceDriver processes(*plugin(), kProcesses, host);
  processes.collect({{7, 7}});
  BOOST_TEST(processes.cell("rss_bytes", 0) == std::to_string(50 * ::sysconf(_SC_PAGESIZE)));
  BOOST_TEST(processes.cell("process.smaps_rollup", 0).starts_with("Rss=200"));
  std::filesystem::remove_all(process + "/task/9");
  processes.collect({{7, 7}});
  BOOST_TEST(processes.cell("rss_bytes", 0) == "NotApplicable");
  BOOST_TEST(processes.cell("process.smaps_rollup", 0) == "NotApplicable");
}

BOOST_AUTO_TEST_CASE(fills_every_cell_on_every_recorded_kernel) {
  for (const char* kernel : {"5.10", "6.1", "6.12", "6.18", "6.18-arm64", "7.2"})
    BOOST_TEST_CONTEXT(kernel) {
      const TestHost host(fixture_path(kernel), {1, 1}, 0);
      SourceDriver threads(*plugin(), kThreads, host);
      const auto refusals = threads.probe();
      threads.collect(recorded_threads(fixture_path(kernel)));
      for (const auto& [metric, gaps] : threads.gaps()) BOOST_TEST_CONTEXT(metric) {
          BOOST_TEST(!gaps.contains("Untouched"));
          BOOST_TEST(!gaps.contains("Malformed"));
          if (!refusals.contains(metric)) BOOST_TEST(gaps.contains("None"));
        }
    }
}

BOOST_AUTO_TEST_CASE(fills_every_cell_on_this_host) {
  const TestHost host("", {self(), self()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  const auto refusals = threads.probe();
  threads.collect({{self(), self()}, {self(), kMissingPid}});
  BOOST_TEST(threads.cell("nr_threads", 0) == "1");
  BOOST_TEST(threads.cell("state", 0) == "R");
  BOOST_TEST(std::stoull(threads.cell("run_time_ns", 0)) > 0u);
  for (const auto& [metric, gaps] : threads.gaps()) BOOST_TEST_CONTEXT(metric) {
      BOOST_TEST(!gaps.contains("Untouched"));
      BOOST_TEST((refusals.contains(metric) || threads.cell(metric, 0) != "Unsupported"));
      BOOST_TEST(threads.cell(metric, 1) == "ThreadGone");
    }
}

BOOST_AUTO_TEST_CASE(reads_only_requested_files) {
  const TestHost host("", {self(), self()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  threads.collect({{self(), kMissingPid}}, {"run_time_ns"});
  const auto summary = threads.summary(1);
  const std::vector<std::pair<std::string, std::string>> expected{
      {"tids_walked", "1"},
      {"read_failures", "1"},
      {"read_failures_by_file.", "null"},
      {"read_failures_by_file.schedstat", "1"},
      {"dominant_read_failure", "schedstat"},
      {"kernel_config_dominant", "false"},
      {"negative_dotted_values", "0"},
      {"read_failures_denied", "0"}};
  BOOST_TEST((summary.fields == expected));
  BOOST_TEST(summary.notes.empty());
}

BOOST_AUTO_TEST_CASE(the_summary_is_empty_without_failures) {
  const TestHost host("", {self(), self()}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  threads.collect({{self(), self()}}, {"run_time_ns"});
  const auto fields = threads.summary(1).fields;
  BOOST_TEST((std::find(fields.begin(), fields.end(),
                        std::pair<std::string, std::string>{"dominant_read_failure", "null"}) !=
              fields.end()));
}

BOOST_AUTO_TEST_CASE(counts_and_notes_denied_reads,
                     *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
                       return boost::test_tools::assertion_result(::getuid() == 0);
                     })) {
  // Process 1 belongs to root, so its io is denied. Denied reads are failures, but not because of
  // kernel configuration.
  const TestHost host("", {1, 1}, kLive);
  SourceDriver threads(*plugin(), kThreads, host);
  SourceDriver processes(*plugin(), kProcesses, host);
  BOOST_TEST(run_as_nobody([&] {
               threads.collect({{1, 1}});
               processes.collect({{1, 1}, {2, 2}});
               const auto summary = threads.summary(1);
               const auto field = [&](const char* key) {
                 return std::find_if(summary.fields.begin(), summary.fields.end(),
                                     [&](const auto& item) { return item.first == key; })
                     ->second;
               };
               return threads.cell("rchar", 0) == "Denied" &&
                      threads.cell("minflt", 0) != "Denied" &&
                      processes.cell("process.smaps_rollup", 0) == "Denied" &&
                      field("read_failures_denied") == "1" &&
                      field("kernel_config_dominant") == "false" && summary.notes.size() == 1 &&
                      summary.notes[0].find("CAP_SYS_PTRACE") != std::string::npos;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(counts_missing_kernel_configuration_separately) {
  // In this recorded tree a thread lacks its files, which is not a denied read.
  const TestHost host(fixture_path("6.18"), {1, 1}, 0);
  SourceDriver threads(*plugin(), kThreads, host);
  threads.collect({{151, kMissingPid}}, {"run_time_ns", "rchar"});
  const auto fields = threads.summary(1).fields;
  BOOST_TEST((std::find(fields.begin(), fields.end(),
                        std::pair<std::string, std::string>{"kernel_config_dominant", "true"}) !=
              fields.end()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace procfs_plugin_test
