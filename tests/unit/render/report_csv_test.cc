// Tests reports as CSV: each column contains the value of the JSON member with its name.

#include "core/render/report_csv.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::report_csv_test {
namespace {

using namespace hand_made;

const RuleSet kRuleSet;

// Returns one process with these threads; each has a run time of its id in seconds.
Snapshot process_of(std::uint64_t second, const std::vector<std::uint64_t>& tids) {
  std::vector<Thread> threads;
  Cells<std::uint64_t> starts, times;
  for (const std::uint64_t tid : tids) {
    threads.push_back({1, tid, "web", "w"});
    starts.push_back(tid);
    times.push_back(tid * second * 1'000'000);
  }
  Snapshot snapshot = snapshot_of(threads);
  add_u64(snapshot, identity_metric(kStartTime), starts);
  add_u64(snapshot, metric("run_time_ns", "MonotonicNs", "SumNs"), times);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start = {second * 1'000'000'000, second * 1'000'000'000};
  return snapshot;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
  return fields;
}

// Returns the fields of a metric's row by column name. REQUIRES: no field is quoted.
std::map<std::string, std::string> csv_row(const Report& report, const std::string& metric) {
  StringSink sink;
  BOOST_REQUIRE(write_report_csv(report, sink));
  std::istringstream lines(sink.text());
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = fields_of(line);
  while (std::getline(lines, line)) {
    std::vector<std::string> fields = fields_of(line);
    fields.resize(names.size());
    std::map<std::string, std::string> row;
    for (std::size_t at = 0; at < names.size(); ++at) row[names[at]] = fields[at];
    if (row["metric"] == metric) return row;
  }
  BOOST_FAIL("no row of " << metric);
  return {};
}

BOOST_AUTO_TEST_SUITE(report_csv_test)

// Of threads 1 to 4, thread 1 exits; 5 and 6 are new.
BOOST_AUTO_TEST_CASE(counts_living_new_and_exited_threads_in_their_columns) {
  const Snapshot before = process_of(10, {1, 2, 3, 4}), after = process_of(20, {2, 3, 4, 5, 6});
  auto report = Report::make(std::vector{&before, &after}, Spec{}, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  auto row = csv_row(*report, "run_time_ns");
  BOOST_TEST(row["threads_baseline"] == "4");
  BOOST_TEST(row["threads_candidate"] == "5");
  BOOST_TEST(row["threads_alive"] == "3");
  BOOST_TEST(row["threads_new"] == "2");
  BOOST_TEST(row["threads_gone"] == "1");
  BOOST_TEST(row["baseline"] == "100000000");
  BOOST_TEST(row["candidate"] == "400000000");
  BOOST_TEST(row["delta"] == "300000000");
  BOOST_TEST(row["delta_alive"] == "90000000");
  BOOST_TEST(row["delta_new"] == "220000000");
  BOOST_TEST(row["delta_gone"] == "-10000000");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::report_csv_test
