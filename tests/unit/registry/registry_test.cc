// Tests merging the offers of plugins: each name has one definition, and the best working offer is
// selected.

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <future>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/registry/call_watch.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/registry/probed_host.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace registry_test {
using namespace ctprof;
using namespace ctprof::fake;

BOOST_AUTO_TEST_SUITE(registry_test)

BOOST_AUTO_TEST_CASE(the_highest_rank_wins) {
  const Registry merged = make_registry({make_fake_plugin<OfferingSource<kOne, 1>>("low"),
                                         make_fake_plugin<OfferingSource<kOne, 5>>("high")});
  const ProbedHost probed(merged, host_without_files());
  BOOST_TEST(probed.find("one")->find_selected_offer()->plugin->name == "high");
}

BOOST_AUTO_TEST_CASE(skips_a_refused_offer_and_keeps_its_reason) {
  const Registry merged = make_registry({make_fake_plugin<OfferingSource<kOne, 1>>("low"),
                                         make_fake_plugin<OfferingSource<kOne, 5, true>>("high")});
  const ProbedHost probed(merged, host_without_files());
  const ProbedMetric& field = *probed.find("one");
  BOOST_TEST(field.find_selected_offer()->plugin->name == "low");
  BOOST_TEST(field.offers.front().reason == "the switch is off");
  BOOST_CHECK(field.offers.front().refusal == Gap::SwitchedOff);
}

BOOST_AUTO_TEST_CASE(refuses_another_definition_and_names_both_plugins) {
  const Registry merged = make_registry(
      {make_fake_plugin<OfferingSource<kOne>>("first"),
       make_fake_plugin<OfferingSource<kOneAsGauge>, OfferingSource<kTwo>>("second")});
  BOOST_REQUIRE_EQUAL(merged.refusals().size(), 1u);
  BOOST_TEST(merged.refusals()[0].subject == "second.so");
  BOOST_TEST(merged.refusals()[0].reason.find("'first'") != std::string::npos);
  BOOST_TEST(merged.find("one")->offers.size() == 1u);
  BOOST_TEST(merged.find("two")->offers.size() == 1u);  // the plugin's other offers remain
}

// Threads and cgroups have no groups in common.
BOOST_AUTO_TEST_CASE(refuses_formulas_across_entities) {
  static constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount, sdk::Entity::Cgroup>
      kCgroupMetric{{.name = "of_cgroup", .description = "one"}};
  Plugin mixed = make_fake_plugin<OfferingSource<kOne>>("mixed");
  mixed.declared_metrics.push_back(define(kCgroupMetric.abi, "mixed"));
  DerivedDef ratio;
  ratio.name = "mixed_ratio";
  ratio.expression = "one / of_cgroup";
  ratio.unit = "ratio";
  mixed.derived_metrics.push_back(ratio);
  const Registry merged = make_registry({mixed});
  BOOST_TEST(merged.derived_metrics().empty());
  BOOST_REQUIRE_EQUAL(merged.refusals().size(), 1u);
  BOOST_TEST(merged.refusals()[0].reason ==
             "its derived metric 'mixed_ratio' is about a thread, but reads 'of_cgroup', which is "
             "about a cgroup: they have no groups in common");
}

constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kLevel{
    {.name = "level", .description = "one"}};
constexpr sdk::Metric<sdk::CategoricalString, sdk::Mode> kWord{
    {.name = "word", .description = "one"}};

DerivedDef make_derived(std::string name, std::string expression, std::string unit = "count",
                        std::string family = "gauge") {
  DerivedDef def;
  def.name = std::move(name);
  def.expression = std::move(expression);
  def.unit = std::move(unit);
  def.family = std::move(family);
  def.plugin = "p";
  return def;
}

Registry registry_with(std::vector<DerivedDef> all) {
  Plugin made =
      make_fake_plugin<OfferingSource<kOne>, OfferingSource<kTwo>, OfferingSource<kLevel>>("p");
  made.declared_metrics.push_back(define(kWord.abi, "p"));
  made.derived_metrics = std::move(all);
  return make_registry({made});
}

std::string refusal_of(std::vector<DerivedDef> all) {
  const Registry merged = registry_with(std::move(all));
  return merged.refusals().empty() ? "" : merged.refusals()[0].reason;
}

BOOST_AUTO_TEST_CASE(refuses_formulas_with_undeclared_inputs) {
  BOOST_TEST(refusal_of({make_derived("d", "one + tow")}) ==
             "its derived metric 'd' reads 'tow', which no loaded plugin declares");
  BOOST_TEST(refusal_of({make_derived("d", "one + tow?")}) ==
             "its derived metric 'd' reads 'tow', which no loaded plugin declares");
  BOOST_TEST(refusal_of({make_derived("d", "one + word")}) ==
             "its derived metric 'd' reads 'word', which is not a number");
  BOOST_TEST(registry_with({make_derived("d", "one + tow"), make_derived("e", "one + two")})
                 .derived_metrics()
                 .size() == 1u);
}

BOOST_AUTO_TEST_CASE(refuses_formulas_with_derived_inputs) {
  BOOST_TEST(refusal_of({make_derived("d", "one + d")}) ==
             "its derived metric 'd' reads 'd', which is derived itself; write out its formula");
  const Registry cyclic =
      registry_with({make_derived("d", "one + e"), make_derived("e", "two + d")});
  BOOST_TEST(cyclic.derived_metrics().empty());
  BOOST_REQUIRE(!cyclic.refusals().empty());
  BOOST_TEST(
      cyclic.refusals()[0].reason ==
      "its derived metric 'd' reads 'e', which is derived itself; write out its formula; and "
      "1 more fault like it");
}

BOOST_AUTO_TEST_CASE(refuses_a_name_with_two_definitions) {
  BOOST_TEST(refusal_of({make_derived("one", "one + two")}) ==
             "its derived metric 'one' has the name of a metric that 'p' declares");
  BOOST_TEST(refusal_of({make_derived("d", "one + two"), make_derived("d", "one - two")}) ==
             "its derived metric 'd' is 'one - two', but 'p' declares it as 'one + two'");
}

BOOST_AUTO_TEST_CASE(determines_the_family_from_the_formula) {
  const auto family = [](const std::string& expression, const std::string& unit,
                         const std::string& declared) {
    const Registry merged = registry_with({make_derived("d", expression, unit, declared)});
    BOOST_REQUIRE(merged.refusals().empty());
    return merged.derived_metrics()[0].family;
  };
  BOOST_TEST(family("one + two", "count", "gauge") == "cumulative");
  BOOST_TEST(family("one - two", "count", "cumulative") == "cumulative");
  BOOST_TEST(family("one - two", "count", "gauge") == "gauge");
  BOOST_TEST(family("one / two", "ratio", "gauge") == "gauge");
  BOOST_TEST(family("level - 3", "count", "gauge") == "gauge");
  BOOST_TEST(
      refusal_of({make_derived("d", "one / two", "ratio", "cumulative")}) ==
      "its derived metric 'd' declares the family cumulative, but its formula yields a level");
  BOOST_TEST(
      refusal_of({make_derived("d", "one * level")}).find("multiplies a counter by a level") !=
      std::string::npos);
}

// Plugins pass on the texts of exceptions.
BOOST_AUTO_TEST_CASE(reports_lack_of_memory_in_a_plugin) {
  const CallOwner* owner = call_owner("some.so");
  char message[64];
  const auto call_plugin = [&](auto call) {
    return run_contained_with_status(owner, "start", message, call);
  };
  BOOST_TEST(call_plugin([&] {
               return std::snprintf(message, sizeof message, "std::bad_alloc");
             }) == "not enough memory");
  BOOST_TEST(call_plugin([]() -> std::int32_t { throw std::bad_alloc(); }) ==
             "start: not enough memory");
  BOOST_TEST(call_plugin([&] {
               return std::snprintf(message, sizeof message, "the device is missing");
             }) == "the device is missing");
}

BOOST_AUTO_TEST_CASE(a_third_party_prefixes_its_names) {
  const Registry merged = make_registry({make_fake_plugin<OfferingSource<kOne>>("other", false)});
  BOOST_TEST(merged.find("one") == nullptr);
  BOOST_TEST(merged.refusals()[0].reason.find("must begin with 'other_'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_third_party_may_offer_known_metrics) {
  const Registry merged =
      make_registry({make_fake_plugin<OfferingSource<kOne>>("ours"),
                     make_fake_plugin<OfferingSource<kOne, 9>>("theirs", false)});
  BOOST_TEST(merged.find("one")->offers.front().plugin->name == "theirs");
}

BOOST_AUTO_TEST_CASE(rethrows_exceptions_of_the_slow_call_report) {
  std::promise<void> reported;
  CallWatch watch([&](const SlowCall& slow) {
    reported.set_value();
    throw std::runtime_error(slow.function);
  });
  BOOST_TEST(run_contained(call_owner("slow.so"), "open", [&] { reported.get_future().wait(); }) ==
             "");
  BOOST_CHECK_EXCEPTION(watch.finish(), std::runtime_error,
                        [](const auto& error) { return std::string(error.what()) == "open"; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace registry_test
