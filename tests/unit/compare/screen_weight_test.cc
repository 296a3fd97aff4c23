// Tests the order of the first screen: shares of the machine's time and memory.

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/request/expressions.hpp"
#include "tests/unit/support/screen_windows.hpp"

namespace ctprof::screen_weight_test {
namespace {

using namespace screen_windows;

const MetricDef kWaitTime = with_role(with_headline(metric("waited", "MonotonicNs", "SumNs"),
                                                    {"%wait", 5, CTPROF_SHOWN_PERCENT, false, 1e7}),
                                      "wait-time"),
                kDisk = with_headline(metric("disk", "MonotonicNs", "SumNs"),
                                      {"%disk", 6, CTPROF_SHOWN_PERCENT, false, 1e7}),
                kWritten = with_headline(metric("written", "Bytes", "SumBytes"),
                                         {"write/s", 7, CTPROF_SHOWN_RATE, false, 1 << 20});

MetricDef host_metric(const char* role, const char* newtype, const char* rule) {
  return with_role(metric(std::string("h.") + role, newtype, rule, Entity::Host), role);
}

constexpr std::uint64_t kMib = 1 << 20;

// Counters of threads beyond ThreadActivity, and of the host, in 10 s.
struct MoreCounters {
  Cells<std::uint64_t> waited{}, disk{}, written{};
  std::uint64_t cpus = 4, memory_kib = 1 << 20;
  std::uint64_t disk_bytes = 0, disk_busy = 0;
};

void add_from_zero(Snapshot& snapshot, const MetricDef& def, const Cells<std::uint64_t>& cells,
                   bool is_end) {
  if (cells.empty()) return;
  add_u64(snapshot, def, is_end ? cells : Cells<std::uint64_t>(cells.size(), 0));
}

Snapshot window_with_counters(const std::vector<ThreadActivity>& all, const MoreCounters& more) {
  return window_of(all, 10, {}, [&](Snapshot& snapshot, bool is_end) {
    add_from_zero(snapshot, kWaitTime, more.waited, is_end);
    add_from_zero(snapshot, kDisk, more.disk, is_end);
    add_from_zero(snapshot, kWritten, more.written, is_end);
    snapshot.table(Entity::Host).rows = 1;
    snapshot.objects["host"] = "{\"total_memory_kib\":" + std::to_string(more.memory_kib) + "}";
    add_u64(snapshot, host_metric("host-cpus", "GaugeCount", "MaxGaugeCount"), {more.cpus});
    const auto counter = [&](const char* role, const char* newtype, const char* rule,
                             std::uint64_t count) {
      add_u64(snapshot, host_metric(role, newtype, rule), {is_end ? count : 0});
    };
    counter("host-wall", "MonotonicNs", "SumNs", 10 * kSecond);
    counter("disk-read", "Bytes", "SumBytes", 0);
    counter("disk-write", "Bytes", "SumBytes", more.disk_bytes);
    counter("disk-busy", "MonotonicNs", "SumNs", more.disk_busy);
  });
}

std::string deciding_column(const Report& report, const std::string& name) {
  return report.screen()->columns[find_row(report, name).score_column].headline.label;
}

BOOST_AUTO_TEST_SUITE(screen_weight_test)

BOOST_AUTO_TEST_CASE(a_second_of_run_time_weighs_as_much_as_a_second_of_wait_time) {
  std::vector<ThreadActivity> all{{.name = "runs", .cpu = 10 * kSecond}};
  all.insert(all.end(), 2, {.name = "waits"});
  all.insert(all.end(), 5, {.name = "starves"});
  Cells<std::uint64_t> waited(all.size(), 10 * kSecond);
  waited[0] = 0;
  const Snapshot window = window_with_counters(all, {.waited = waited});
  const Report report = report_of(window);
  BOOST_TEST(row_names(report) == "starves waits runs");
  BOOST_TEST(find_row(report, "runs").score == 0.25);
  BOOST_TEST(find_row(report, "waits").score == 0.5);
  BOOST_TEST(find_row(report, "starves").score == 1.0);  // 5 CPUs of 4
  BOOST_TEST(deciding_column(report, "waits") == "%wait");
}

BOOST_AUTO_TEST_CASE(blocked_time_of_a_group_weighs_at_most_one_second_per_second) {
  const Snapshot window = window_with_counters(
      {{.name = "pool"}, {.name = "one"}, {.name = "runs", .cpu = 15 * kSecond}},
      {.disk = Cells<std::uint64_t>{80 * kSecond, 5 * kSecond, 0}});
  const Report report = report_of(window);
  BOOST_TEST(row_names(report) == "runs pool one");
  BOOST_TEST(find_row(report, "pool").score == 0.25);
  BOOST_TEST(find_row(report, "one").score == 0.125);
}

BOOST_AUTO_TEST_CASE(memory_weighs_as_a_share_of_the_hosts_memory) {
  const Snapshot window = window_with_counters(
      {{.name = "sleep", .switches = 1, .memory_after = 17 * kMib, .is_started = false},
       {.name = "large", .cpu = 200 * kMs, .memory_before = 512 * kMib, .memory_after = 512 * kMib},
       {.name = "freed", .cpu = 200 * kMs, .memory_before = 256 * kMib},
       {.name = "busy", .cpu = 10 * kSecond}},
      {});
  const Report report = report_of(window);
  BOOST_TEST(row_names(report) == "large busy freed sleep");
  BOOST_TEST(find_row(report, "large").score == 0.5);
  BOOST_TEST(find_row(report, "freed").score == 0.25);
  BOOST_TEST(find_row(report, "sleep").score == 17.0 / 1024);
}

BOOST_AUTO_TEST_CASE(a_change_of_one_percent_of_a_small_memory_is_not_quiet) {
  const std::vector<ThreadActivity> growing_thread{{.name = "grows", .memory_after = 3 * kMib}};
  const auto floor = [&](std::uint64_t memory_kib) {
    const Snapshot window = window_with_counters(growing_thread, {.memory_kib = memory_kib});
    return report_of(window).screen()->columns[3].floor;
  };
  BOOST_TEST(floor(50 << 10) == 0.5 * kMib);
  BOOST_TEST(floor(1 << 20) == 1.0 * kMib);  // the floor of the headline
}

BOOST_AUTO_TEST_CASE(bytes_weigh_as_a_share_of_disk_activity) {
  const std::vector<ThreadActivity> all{{.name = "writes"}, {.name = "busy", .cpu = 10 * kSecond}};
  const Cells<std::uint64_t> written{300 * kMib, 0};
  // 300 of 400 MiB on disks that were busy for 8 s of 10.
  const Report report = report_of(window_with_counters(
      all, {.written = written, .disk_bytes = 400 * kMib, .disk_busy = 8 * kSecond}));
  BOOST_TEST(find_row(report, "writes").score == 0.6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(row_names(report) == "writes busy");
  // Buffered bytes weigh at most as much as all bytes that reached a disk.
  const Report buffered = report_of(window_with_counters(
      all, {.written = written, .disk_bytes = 10 * kMib, .disk_busy = kSecond / 10}));
  BOOST_TEST(find_row(buffered, "writes").score == 0.01, boost::test_tools::tolerance(1e-12));
  // Without disk metrics, bytes have no weight.
  BOOST_TEST(find_row(report_of(window_with_counters(all, {.written = written})), "writes").score ==
             0.0);
}

BOOST_AUTO_TEST_CASE(counts_never_outrank_times) {
  const Snapshot window =
      window_with_counters({{.name = "switches", .cpu = kSecond, .switches = 9'000'000},
                            {.name = "polls", .cpu = 2 * kSecond, .switches = 1}},
                           {});
  const Report report = report_of(window);
  BOOST_TEST(row_names(report) == "polls switches");
  BOOST_TEST(deciding_column(report, "switches") == "%cpu");
}

BOOST_AUTO_TEST_CASE(two_windows_are_ordered_by_change) {
  const std::vector<ThreadActivity> before{{.name = "always", .cpu = 30 * kSecond},
                                           {.name = "more", .cpu = kSecond}},
      after{{.name = "always", .cpu = 30 * kSecond, .switches = 5'000'000},
            {.name = "more", .cpu = 3 * kSecond}};
  const Snapshot first = window_with_counters(before, {}), last = window_with_counters(after, {});
  const Report report = report_of({&first, &last});
  BOOST_TEST(row_names(report) == "more always");
  BOOST_TEST(find_row(report, "more").score == 0.05, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(find_row(report, "always").score == 0.0);
  BOOST_TEST(deciding_column(report, "always") == "sw/s");  // the column with the largest change
  BOOST_TEST(find_row(report, "always").has_score_value);
}

// Groups outside of the condition have no rows, but the total of the host still includes them.
BOOST_AUTO_TEST_CASE(a_score_does_not_depend_on_the_selected_groups) {
  const Snapshot window =
      window_with_counters({{.name = "a", .cpu = 4 * kSecond}, {.name = "b", .cpu = 8 * kSecond}},
                           {.written = Cells<std::uint64_t>{40 * kMib, 0},
                            .disk_bytes = 400 * kMib,
                            .disk_busy = 9 * kSecond});
  Spec spec;
  BOOST_REQUIRE(add_condition(spec.where, "pcomm == \"a\""));
  BOOST_TEST(find_row(report_of(window, spec), "a").score ==
             find_row(report_of(window), "a").score);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::screen_weight_test
