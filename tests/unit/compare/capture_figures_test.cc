// Tests the values that a fleet index keeps of one capture, including captures with stacks.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/compare/report/capture_figures.hpp"
#include "tests/unit/support/stack_reports.hpp"

namespace ctprof::capture_figures_test {
namespace {

using namespace hand_made;

const std::vector<std::pair<std::string, NamedStacks>> kThreads{
    {"a", {{{"p:f", "p:main"}, 9}, {{"p:main"}, 1}}},
    {"a", {{{"p:f", "p:main"}, 2}}},
    {"b", {{{"p:f", "p:g"}, 10}}}};

CapturePlan plan_of(const Snapshot& window) {
  auto plan = CapturePlan::make(window, {}, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(plan, plan.error().text);
  return std::move(*plan);
}

std::size_t column_index(const MetricPlan& plan, const std::string& name) {
  const PlannedMetric* metric = plan.find(name);
  BOOST_REQUIRE(metric);
  return static_cast<std::size_t>(metric - plan.metrics.data());
}

double total_of(const CapturePlan& plan, const CaptureFigures& figures, const std::string& name) {
  for (const auto& one : plan.numeric_metrics())
    if (plan.planned_metric(one).name == name) return as_double(figures.total(one));
  return kNaN;
}

BOOST_AUTO_TEST_SUITE(capture_figures_test)

BOOST_AUTO_TEST_CASE(stack_totals_are_kept_per_group_and_capture) {
  const Snapshot window = window_of(kThreads);
  const CapturePlan plan = plan_of(window);
  const CaptureFigures figures(window, plan);
  BOOST_TEST(figures.names() == (std::vector<std::string>{"a", "b"}),
             boost::test_tools::per_element());
  const std::size_t on = column_index(plan.metrics(), "on");
  BOOST_TEST(as_double(figures.value(0, on)) == 12);
  BOOST_TEST(as_double(figures.value(1, on)) == 10);
  BOOST_TEST(total_of(plan, figures, "on") == 22);
}

// A third-party recorder can record stacks of cgroups.
BOOST_AUTO_TEST_CASE(keeps_stack_totals_of_cgroups) {
  Snapshot window = window_of(kThreads);
  window.table(Entity::Cgroup).rows = 2;
  window.window->openings[static_cast<std::size_t>(Entity::Cgroup)].started.assign(2, 0);
  add_text(window, identity_metric(kCgroupPath), {"/x", "/y"});
  add_stacks(window, metric("of_cgroup", "StackNs", "StackSum", Entity::Cgroup),
             {{{{"p:f"}, 3}}, {{{"p:g"}, 4}}});
  const CapturePlan plan = plan_of(window);
  const CaptureFigures figures(window, plan);
  BOOST_TEST(total_of(plan, figures, "of_cgroup") == 7);
}

BOOST_AUTO_TEST_CASE(a_capture_without_stacks_keeps_its_other_values) {
  Snapshot window = window_of({{"a", {}}, {"b", {}}});
  add_u64(window, metric("run", "MonotonicNs", "SumNs"), {4, 5});
  const CapturePlan plan = plan_of(window);
  BOOST_TEST(total_of(plan, CaptureFigures(window, plan), "run") == 9);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::capture_figures_test
