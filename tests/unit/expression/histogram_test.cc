// Tests histograms: the buckets, and the value of a group and its change in all outputs.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/compare/figures/rule_states.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/report/rows.hpp"
#include "core/rules/histograms.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::histogram_test {
namespace {

using namespace hand_made;

constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();
const MetricDef kWaits = metric("waits", "HistogramNs", "HistogramMerge");
const RuleSet kRuleSet;

// The buckets of these values.
Numbers histogram_of(const std::vector<std::uint64_t>& values) {
  Numbers buckets;
  for (const std::uint64_t value : values) {
    const std::size_t bucket = ctprof_histogram_bucket(value);
    buckets.resize(std::max(buckets.size(), bucket + 1));
    ++buckets[bucket];
  }
  return buckets;
}

Snapshot threads_with(const Cells<Numbers>& cells) {
  std::vector<Thread> rows;
  for (std::uint64_t tid = 1; tid <= cells.size(); ++tid) rows.push_back({1, tid, "p", "p"});
  Snapshot snapshot = snapshot_of(rows);
  add_numbers(snapshot, kWaits, cells);
  return snapshot;
}

Report report_of(const std::vector<const Snapshot*>& sides, Spec spec = {.metrics = {"waits"}}) {
  auto report = Report::make(sides, spec, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

std::size_t index_of(const Report& report, const std::string& name) {
  for (std::size_t i = 0; i < report.metrics().size(); ++i)
    if (report.metrics()[i].name == name) return i;
  BOOST_FAIL("no metric " << name);
  return 0;
}

std::string json_of(const Cells<Numbers>& cells) {
  const Snapshot snapshot = threads_with(cells);
  const Report report = report_of({&snapshot});
  std::string json;
  report.rollup().append_json(json, {0, 0, index_of(report, "waits")});
  return json;
}

BOOST_AUTO_TEST_SUITE(histogram_test)

BOOST_AUTO_TEST_CASE(each_value_has_one_bucket) {
  for (std::uint32_t bucket = 0; bucket < CTPROF_HISTOGRAM_BUCKETS; ++bucket) {
    const std::uint64_t smallest = ctprof_histogram_smallest(bucket);
    BOOST_TEST(ctprof_histogram_bucket(smallest) == bucket);
    if (bucket > 0) BOOST_TEST(ctprof_histogram_bucket(smallest - 1) == bucket - 1);
  }
  // These are stored in files and never change.
  const std::vector<std::pair<std::uint64_t, std::uint32_t>> kKnown{
      {0, 0}, {1, 1},     {2, 2},     {3, 3},          {4, 4},        {6, 5},
      {8, 6}, {1000, 19}, {1024, 20}, {1'000'000, 39}, {kMaxU64, 95}, {std::uint64_t{3} << 46, 95},
  };
  for (const auto& [value, bucket] : kKnown) BOOST_TEST(ctprof_histogram_bucket(value) == bucket);
  static_assert(ctprof_histogram_bucket(1000) == 19);
}

BOOST_AUTO_TEST_CASE(percentiles_are_the_largest_values_of_their_buckets) {
  std::vector<std::uint64_t> values(98, 5);
  values.push_back(1000);
  values.push_back(5'000'000);
  BOOST_TEST(json_of({histogram_of(values)}) ==
             R"({"count":100,"max":6291455,"p50":5,"p99":1023,"p99.9":6291455})");
  BOOST_TEST(json_of({histogram_of({7})}) == R"({"count":1,"max":7,"p50":7,"p99":7,"p99.9":7})");
  BOOST_TEST(json_of({histogram_of({0, 3})}) == R"({"count":2,"max":3,"p50":0,"p99":3,"p99.9":3})");
  // The last bucket has no largest value.
  BOOST_TEST(json_of({histogram_of({kMaxU64})}) ==
             R"({"count":1,"max":211106232532992,"p50":211106232532992,)"
             R"("p99":211106232532992,"p99.9":211106232532992})");
}

BOOST_AUTO_TEST_CASE(a_group_adds_buckets_of_its_rows) {
  BOOST_TEST(json_of({Numbers{0, 0, 3}, {}, Numbers{0, 0, 1, 4}}) ==
             R"({"count":8,"max":3,"p50":2,"p99":3,"p99.9":3})");
  BOOST_TEST(json_of({Numbers{0, kMaxU64}, Numbers{0, 1, 0, 2}}) ==
             R"({"count":18446744073709551615,"max":3,"p50":1,"p99":1,"p99.9":1})");
}

BOOST_AUTO_TEST_CASE(no_histogram_differs_from_an_empty_one) {
  BOOST_TEST(json_of({{}, {}}) == "null");
  BOOST_TEST(json_of({Numbers{}, {}}) == R"({"count":0})");
}

// A file or a plugin may have more elements than buckets exist.
BOOST_AUTO_TEST_CASE(elements_beyond_the_last_bucket_count_in_it) {
  Numbers numbers(200);
  numbers.back() = 2;
  BOOST_TEST(json_of({numbers}) == json_of({histogram_of({kMaxU64, kMaxU64})}));
}

BOOST_AUTO_TEST_CASE(a_group_has_buckets_and_coverage) {
  const Snapshot snapshot = threads_with({histogram_of({5, 5, 1000}), {}});
  const Report report = report_of({&snapshot});
  const CellPosition at{0, 0, index_of(report, "waits")};
  std::string extras;
  report.rollup().append_extras(extras, at);
  BOOST_TEST(extras == R"({"buckets":[[4,2],[768,1]]})");
  BOOST_TEST(report.rollup().text(at) ==
             "count 3\nmax 1.023µs\np50 5ns\np99 1.023µs\np99.9 1.023µs");
  BOOST_TEST(report.rollup().coverage(at).values == 1u);
  BOOST_TEST(report.rollup().coverage(at).rows == 2u);
}

BOOST_AUTO_TEST_CASE(a_comparison_has_a_change_for_each_part) {
  const Snapshot a = threads_with({histogram_of({5, 5})}), b = threads_with({histogram_of({9})});
  const Report report = report_of({&a, &b});
  const RowPosition at{0, static_cast<std::uint32_t>(index_of(report, "waits"))};
  std::string text;
  for (const KeyFigure& key : find_key_figures(report, at))
    if (key.difference.is_known())
      text += std::string(key.key) + "[" + std::string(key.unit) + "] " +
              std::to_string(static_cast<std::int64_t>(key.difference.real)) + "; ";
  BOOST_TEST(text == "count[count] -1; max[ns] 6; p50[ns] 6; p99[ns] 6; p99.9[ns] 6; ");
  const Change change = report.changes().change(0, at.metric, 1);
  BOOST_TEST(change.rule_text == "differs");
}

BOOST_AUTO_TEST_CASE(a_part_can_be_named_where_a_number_is_expected) {
  const Snapshot snapshot = threads_with({histogram_of({5, 5})});
  const Report report = report_of({&snapshot}, {.metrics = {"waits[p99]", "waits[count]"}});
  const auto number = [&](const char* name) {
    return as_double(report.rollup().read({0, 0, index_of(report, name)}).number);
  };
  BOOST_TEST(number("waits[p99]") == 5);
  BOOST_TEST(number("waits[count]") == 2);
  BOOST_TEST(report.metrics()[index_of(report, "waits[p99]")].unit == "ns");
  BOOST_TEST(!report.metrics()[index_of(report, "waits[p99]")].is_cumulative);
  BOOST_TEST(report.metrics()[index_of(report, "waits[count]")].is_cumulative);
  const Snapshot* sides[] = {&snapshot};
  const auto unknown = Report::make(sides, {.metrics = {"waits[p98]"}}, {&kRuleSet, {}});
  BOOST_REQUIRE(!unknown);
  BOOST_TEST(unknown.error().text == "'waits' has no key 'p98' in the input (did you mean 'p99'?)");
}

// Two workers may have read the rows, in either order.
BOOST_AUTO_TEST_CASE(merging_equals_adding) {
  const ctprof_rule& rule = *kRuleSet.find("HistogramMerge");
  const std::vector<Numbers> cells{histogram_of({5, 7000}), histogram_of({1, 1 << 20}), {}};
  const auto added = [&](std::vector<std::uint32_t> ids) {
    const std::vector<std::uint32_t> groups(ids.size(), 0);
    ctprof_rows rows{};
    rows.size = sizeof rows;
    rows.storage = CTPROF_ARRAY;
    rows.count = ids.size();
    rows.groups = groups.data();
    rows.values = ids.data();
    rows.core = &cells;
    rows.bits = [](const void* core, std::uint32_t id, std::size_t* count) {
      const Numbers& numbers = (*static_cast<const std::vector<Numbers>*>(core))[id];
      *count = numbers.size();
      return numbers.data();
    };
    RuleStates states(rule, 1);
    states.add(rows);
    return states;
  };
  const auto buckets = [](const RuleStates& states) {
    const auto found = rules::buckets_in(states[0]);
    return Numbers(found.begin(), found.end());
  };
  const Numbers whole = buckets(added({0, 1, 2}));
  for (const bool is_swapped : {false, true}) {
    RuleStates into = added({is_swapped ? 1U : 0U, 2});
    const RuleStates from = added({is_swapped ? 0U : 1U});
    rule.merge(const_cast<void*>(into[0]), from[0]);
    BOOST_TEST(buckets(into) == whole, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::histogram_test
