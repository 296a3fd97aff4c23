// Tests sums of optional inputs: how many inputs each sum has, and which comparisons are omitted if
// two sums have different inputs.

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/render/report_json.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::sum_inputs_test {
namespace {

namespace json = boost::json;
using namespace hand_made;

const RuleSet rules;

// A snapshot of one thread, with a sum of three inputs that may be missing.
class SumSnapshot {
 public:
  SumSnapshot() : snapshot_(snapshot_of({{1, 1, "p", "p"}})) {
    DerivedDef sum;
    sum.name = "sum";
    sum.expression = "cpu? + irq? + swap?";
    sum.unit = "ns";
    sum.section = "derived";
    snapshot_.derived = {sum};
  }
  SumSnapshot add_input(const char* name, std::optional<std::uint64_t> value,
                        Gap gap = Gap::ThreadGone) && {
    add_u64(snapshot_, metric(name, "MonotonicNs", "SumNs"), {value}, gap);
    return std::move(*this);
  }
  const Snapshot& snapshot() const { return snapshot_; }

 private:
  Snapshot snapshot_;
};

Report compare_sums(const SumSnapshot& a, const SumSnapshot& b, std::string_view fail_on = {}) {
  const Snapshot* sides[] = {&a.snapshot(), &b.snapshot()};
  Spec spec{.metrics = {"sum"}};
  if (!fail_on.empty()) spec.fail_on.push_back(*parse_fail_on(fail_on));
  auto report = Report::make(sides, spec, {&rules, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

json::object row_of(const Report& report) {
  StringSink sink;
  const std::string files[] = {"a.zst", "b.zst"};
  BOOST_REQUIRE(write_report_json(report, files, sink));
  return json::parse(sink.text()).at("rows").at(0).as_object();
}

std::string parts_json(const SumSnapshot& side) {
  return json::serialize(row_of(compare_sums(side, side)).at("parts_baseline"));
}

BOOST_AUTO_TEST_SUITE(sum_inputs_test)

BOOST_AUTO_TEST_CASE(counts_switched_off_denied_and_absent_inputs_as_missing) {
  BOOST_TEST(parts_json(SumSnapshot().add_input("cpu", 5).add_input("irq", {}, Gap::SwitchedOff)) ==
             R"({"present":1,"of":3,"missing":["irq","swap"]})");
  BOOST_TEST(parts_json(SumSnapshot().add_input("cpu", 5).add_input("irq", 0).add_input(
                 "swap", {}, Gap::Denied)) == R"({"present":2,"of":3,"missing":["swap"]})");
}

BOOST_AUTO_TEST_CASE(unsupported_inputs_do_not_count) {
  BOOST_TEST(parts_json(SumSnapshot()
                            .add_input("cpu", 5)
                            .add_input("irq", {}, Gap::Unsupported)
                            .add_input("swap", 0)) == R"({"present":2,"of":2,"missing":[]})");
}

BOOST_AUTO_TEST_CASE(only_sums_with_equal_inputs_have_percentages) {
  const SumSnapshot one = SumSnapshot().add_input("cpu", 100),
                    more = SumSnapshot().add_input("cpu", 150),
                    both = SumSnapshot().add_input("cpu", 100).add_input("irq", 900),
                    cannot =
                        SumSnapshot().add_input("cpu", 150).add_input("irq", {}, Gap::Unsupported);
  BOOST_TEST(row_of(compare_sums(one, more)).at("pct").to_number<double>() == 0.5);
  BOOST_TEST(row_of(compare_sums(one, cannot)).at("pct").to_number<double>() == 0.5);
  const json::object different_inputs = row_of(compare_sums(one, both));
  BOOST_TEST(different_inputs.at("pct").is_null());
  BOOST_TEST(different_inputs.at("delta").to_number<double>() == 900);
}

BOOST_AUTO_TEST_CASE(fail_on_skips_and_reports_sums_with_different_inputs) {
  const SumSnapshot one = SumSnapshot().add_input("cpu", 100),
                    more = SumSnapshot().add_input("cpu", 150),
                    both = SumSnapshot().add_input("cpu", 100).add_input("irq", 900);
  for (const char* condition : {"sum.pct > 1", "sum.delta > 1", "sum.candidate > 1"}) {
    const Report equal_inputs = compare_sums(one, more, condition),
                 different_inputs = compare_sums(one, both, condition);
    BOOST_TEST(equal_inputs.fail_on_section().rows.size() == 1);
    BOOST_TEST(equal_inputs.notes().empty());
    BOOST_TEST(different_inputs.fail_on_section().rows.empty());
    BOOST_REQUIRE(different_inputs.notes().size() == 1);
    BOOST_TEST(different_inputs.notes()[0] ==
               "--fail-on does not test 'sum' of 1 group: the sides measured different parts of "
               "the metric");
  }
}

BOOST_AUTO_TEST_CASE(fail_on_checks_groups_that_only_the_candidate_has) {
  const SumSnapshot one = SumSnapshot().add_input("cpu", 100);
  Snapshot two = snapshot_of({{1, 1, "p", "p"}, {2, 2, "new", "new"}});
  add_u64(two, metric("cpu", "MonotonicNs", "SumNs"), {100, 900});
  two.derived = one.snapshot().derived;
  const Snapshot* sides[] = {&one.snapshot(), &two};
  Spec spec;
  spec.fail_on.push_back(*parse_fail_on("sum.candidate > 500"));
  const auto report = Report::make(sides, spec, {&rules, {}});
  BOOST_REQUIRE(report);
  BOOST_TEST(report->fail_on_section().rows.size() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::sum_inputs_test
