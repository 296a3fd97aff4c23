// Tests findings that derived metrics define, as those of plugins do.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/unit/render/sign_windows.hpp"

namespace ctprof::defined_findings_test {
namespace {

using namespace sign_windows;

DerivedDef make_derived(std::string expression, const FindingDef& finding) {
  DerivedDef derived;
  derived.name = "x_rate";
  derived.expression = std::move(expression);
  derived.unit = "count";
  derived.family = "cumulative";
  derived.section = "network";
  derived.finding = finding;
  return derived;
}

const FindingDef kFinding{.statement = "gave up {given_up} times, {} per second",
                          .at_least = 100,
                          .weight = 0.0001,
                          .next = CTPROF_NEXT_FIGURES};
const DerivedDef kDerived = make_derived("given_up + 0", kFinding);

Snapshot window_defining(const std::vector<Row>& all, const DerivedDef& derived) {
  Snapshot window = window_with(all);
  window.derived.push_back(derived);
  return window;
}

std::string text_defining(const std::vector<Row>& all, const DerivedDef& derived = kDerived) {
  return text_of(report_of(window_defining(all, derived)));
}

// Ten seconds: 2,000 are 200 per second.
const std::vector<Row> kMany{{.cpu = kMs, .voluntary_switches = 2'000}},
    kFew{{.cpu = kMs, .voluntary_switches = 990}};

BOOST_AUTO_TEST_SUITE(defined_findings_test)

BOOST_AUTO_TEST_CASE(a_group_reaches_the_threshold) {
  const std::string text = text_defining(kMany);
  BOOST_TEST(contains(text, "1 server gave up 2.00K times, 200 per second\n"), text);
  BOOST_TEST(contains(text, "ctprof show a.zst --sections network --where 'pcomm == \"server\"'"),
             text);
  BOOST_TEST(text_defining(kFew) == "");
}

BOOST_AUTO_TEST_CASE(whole_numbers_have_no_decimals) {
  FindingDef low = kFinding;
  low.at_least = 1;
  const std::string whole =
      text_defining({{.cpu = kMs, .voluntary_switches = 50}}, make_derived("given_up + 0", low));
  BOOST_TEST(contains(whole, "1 server gave up 50 times, 5 per second\n"), whole);
  const std::string broken =
      text_defining({{.cpu = kMs, .voluntary_switches = 55}}, make_derived("given_up + 0", low));
  BOOST_TEST(contains(broken, "1 server gave up 55 times, 5.5 per second\n"), broken);
}

BOOST_AUTO_TEST_CASE(a_comparison_has_a_finding_only_if_the_value_rose) {
  const Snapshot few = window_defining(kFew, kDerived), many = window_defining(kMany, kDerived);
  BOOST_TEST(contains(text_of(report_of({&few, &many})), "server gave up 2.00K times"));
  BOOST_TEST(!contains(text_of(report_of({&many, &many})), "gave up"));
}

BOOST_AUTO_TEST_CASE(weights_order_findings_and_are_at_most_one) {
  const Snapshot window = window_defining(kMany, kDerived);
  const Report report = report_of(window);
  const auto findings = find_causes(report);
  BOOST_REQUIRE(findings.size() == 1u);
  BOOST_TEST(findings[0].rule == "x_rate");
  BOOST_TEST(findings[0].weight == 0.02, boost::test_tools::tolerance(1e-9));
  FindingDef heavy = kFinding;
  heavy.weight = 9;
  const Snapshot other = window_defining(kMany, make_derived("given_up + 0", heavy));
  BOOST_TEST(find_causes(report_of(other)).at(0).weight == 1.0);
}

BOOST_AUTO_TEST_CASE(the_largest_values_remain) {
  std::vector<Row> rows;
  for (std::uint64_t at = 1; at <= 9; ++at)
    rows.push_back({.process = at,
                    .name = "p" + std::string(1, static_cast<char>('a' + at)),
                    .cpu = kMs,
                    .voluntary_switches = 1'000 * at});
  const Snapshot window = window_defining(rows, kDerived);
  const Report report = report_of(window);
  const auto findings = find_causes(report);
  BOOST_REQUIRE(findings.size() == kMaxFindings);
  BOOST_TEST(findings.front().subject == "pj");
  BOOST_TEST(findings.back().subject == "pf");
}

BOOST_AUTO_TEST_CASE(the_host_has_findings_without_a_group) {
  DerivedDef derived = make_derived("lost + 0", {.statement = "lost {lost} of {unknown}",
                                                 .at_least = 5,
                                                 .weight = 0.01,
                                                 .next = CTPROF_NEXT_THREADS});
  derived.entity = Entity::Host;
  Snapshot before = end_of(kFew, false), after = end_of(kFew, true);
  const MetricDef lost = metric("lost", "MonotonicCount", "SumCount", Entity::Host);
  for (Snapshot* one : {&before, &after}) one->table(Entity::Host).rows = 1;
  add_u64(before, lost, {100});
  add_u64(after, lost, {200});
  after.derived.push_back(derived);
  auto window = make_window(before, std::move(after), {});
  BOOST_REQUIRE(window);
  convert_to_differences(*window);
  BOOST_TEST(text_of(report_of(*window)) == "1 the host lost 100 of ?\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::defined_findings_test
