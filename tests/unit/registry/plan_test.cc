// Tests the plan of a capture: which sources run, for which metrics, and in which order.

#include <boost/test/unit_test.hpp>

#include "core/registry/plan.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace plan_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

constexpr const char* kReadsOne = "one";
constexpr const char* kReadsTwo = "two";
constexpr const char* kReadsUnknown = "unknown_metric";

std::vector<std::string> order(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedSource& planned : plan.sources) names.push_back(planned.plugin->name);
  return names;
}

// Has the highest rank and refuses with Denied.
struct DeniedSource : OfferingSource<kOne, 5> {
  using OfferingSource::OfferingSource;
  static void probe(const sdk::Host&, const sdk::Probe& probe) {
    probe.refuse_all(Gap::Denied, "no leave");
  }
};

// Also offers the time of reading.
struct TimedSource : OfferingSource<kOne> {
  using OfferingSource::OfferingSource;
  static constexpr auto kOffers = sdk::offers(kOne, sdk::kReadAt);
};

constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kThird{
    {.name = "third_one", .description = "one"}};

template <class Source>
Plugin make_always_plugin(const char* name, bool shipped) {
  Plugin plugin = make_fake_plugin<Source>(name, shipped);
  plugin.runs_always = true;
  return plugin;
}

// The plan refers only to the registry.
Plan plan_of(const Registry& merged,
             const std::optional<std::vector<std::string>>& wanted = std::nullopt) {
  return make_plan(ProbedHost(merged, host_without_files()), wanted).value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_test)

BOOST_AUTO_TEST_CASE(runs_a_reader_after_the_source_of_its_input) {
  const Registry merged =
      make_registry({make_fake_plugin<ReadingSource<kTwo, kReadsOne>>("a-reader"),
                     make_fake_plugin<OfferingSource<kOne>>("b-filler")});
  BOOST_TEST(order(plan_of(merged)) == (std::vector<std::string>{"b-filler", "a-reader"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fills_inputs_that_were_not_requested) {
  const Registry merged =
      make_registry({make_fake_plugin<ReadingSource<kTwo, kReadsOne>>("a-reader"),
                     make_fake_plugin<OfferingSource<kOne>>("b-filler")});
  BOOST_TEST(order(plan_of(merged, {{"two"}})).size() == 2u);
  BOOST_TEST(order(plan_of(merged, {{"one"}})).size() == 1u);
}

// CTPROF_PLUGIN_ALWAYS of a third party has no effect.
BOOST_AUTO_TEST_CASE(always_runs_only_plugins_of_ctprof) {
  const Registry merged = make_registry({make_always_plugin<OfferingSource<kOne>>("always", true),
                                         make_always_plugin<OfferingSource<kThird>>("third", false),
                                         make_fake_plugin<OfferingSource<kTwo>>("wanted")});
  BOOST_TEST(order(plan_of(merged)) == (std::vector<std::string>{"always", "third", "wanted"}),
             boost::test_tools::per_element());
  BOOST_TEST(order(plan_of(merged, {{"two"}})) == (std::vector<std::string>{"always", "wanted"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(removes_cyclic_sources) {
  const Registry merged = make_registry({make_fake_plugin<ReadingSource<kTwo, kReadsOne>>("a"),
                                         make_fake_plugin<ReadingSource<kOne, kReadsTwo>>("b")});
  const Plan plan = plan_of(merged);
  BOOST_TEST(plan.sources.empty());
  BOOST_REQUIRE_EQUAL(plan.refusals.size(), 2u);
  BOOST_TEST(plan.refusals[0].reason.find("cycle") != std::string::npos);
  BOOST_REQUIRE_EQUAL(plan.unfilled_metrics.size(), 2u);
  BOOST_CHECK(plan.unfilled_metrics[0].gap == Gap::SourceFailed);
}

BOOST_AUTO_TEST_CASE(removes_sources_without_input) {
  const Registry merged =
      make_registry({make_fake_plugin<ReadingSource<kTwo, kReadsUnknown>>("hungry"),
                     make_fake_plugin<OfferingSource<kTwo, -1>>("plain")});
  const Plan plan = plan_of(merged);
  BOOST_TEST(order(plan) == (std::vector<std::string>{"plain"}), boost::test_tools::per_element());
  BOOST_TEST(plan.refusals[0].reason.find("'unknown_metric'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unfilled_metrics_have_a_gap_and_a_reason) {
  const Registry merged = make_registry({make_fake_plugin<OfferingSource<kOne, 0, true>>("off")});
  const Plan plan = plan_of(merged);
  BOOST_REQUIRE_EQUAL(plan.unfilled_metrics.size(), 1u);
  BOOST_CHECK(plan.unfilled_metrics[0].gap == Gap::SwitchedOff);
  BOOST_TEST(plan.unfilled_metrics[0].reason == "the switch is off");
}

BOOST_AUTO_TEST_CASE(reports_the_reason_of_the_lowest_rank) {
  const Registry merged = make_registry({make_fake_plugin<DeniedSource>("best"),
                                         make_fake_plugin<OfferingSource<kOne, 0, true>>("last")});
  const Plan plan = plan_of(merged);
  BOOST_REQUIRE_EQUAL(plan.unfilled_metrics.size(), 1u);
  BOOST_CHECK(plan.unfilled_metrics[0].gap == Gap::SwitchedOff);
}

BOOST_AUTO_TEST_CASE(suggests_the_nearest_name_of_a_metric) {
  const Registry merged = make_registry({make_fake_plugin<OfferingSource<kTwo>>("a")});
  const auto plan = make_plan(ProbedHost(merged, host_without_files()), {{"twoo"}});
  BOOST_REQUIRE(!plan);
  BOOST_TEST(plan.error().text.find("did you mean 'two'?") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(does_not_run_a_source_only_for_its_time_of_reading) {
  const Registry merged = make_registry(
      {make_fake_plugin<TimedSource>("a"), make_fake_plugin<OfferingSource<kTwo>>("b")});
  BOOST_TEST(order(plan_of(merged, {{"two"}})) == (std::vector<std::string>{"b"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(running_sources_provide_their_time_of_reading) {
  const Registry merged = make_registry({make_fake_plugin<TimedSource>("a")});
  for (const auto& wanted : {std::optional<std::vector<std::string>>(), {{"one"}}}) {
    const Plan plan = plan_of(merged, wanted);
    BOOST_REQUIRE_EQUAL(plan.sources.size(), 1u);
    BOOST_TEST(plan.sources[0].selected_offers == (std::vector<bool>{true, true}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace plan_test
