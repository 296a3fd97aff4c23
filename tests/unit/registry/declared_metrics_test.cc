// Tests sharing of metric definitions between plugins, which requires that all fields are equal.

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/registry/declared_metrics.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace declared_metrics_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

constexpr ctprof_headline kHeadline{.size = sizeof(ctprof_headline),
                                    .order = 3,
                                    .label = "ones/s",
                                    .shown = CTPROF_SHOWN_RATE,
                                    .flags = 0,
                                    .floor = 1};

ctprof_metric sample_metric() {
  ctprof_metric metric = kOne.abi;
  metric.headline = &kHeadline;
  return metric;
}

// Returns metrics, each of which differs from kOne in one field.
std::vector<std::pair<std::string, ctprof_metric>> changed_metrics() {
  static const ctprof_headline kOther = [] {
    ctprof_headline other = kHeadline;
    other.floor = 2;
    return other;
  }();
  std::vector<std::pair<std::string, ctprof_metric>> made;
  const auto add = [&](const char* what, const std::function<void(ctprof_metric&)>& change) {
    change(made.emplace_back(what, sample_metric()).second);
  };
  for (const MetricText& text : kMetricTexts)
    add(text.name, [&](ctprof_metric& metric) { metric.*text.source_field = "another"; });
  add("name", [](ctprof_metric& metric) { metric.name = "two"; });
  add("newtype", [](ctprof_metric& metric) { metric.newtype = "MonotonicNs"; });
  add("rule", [](ctprof_metric& metric) { metric.rule = "SumNs"; });
  add("role", [](ctprof_metric& metric) { metric.role = "busy"; });
  add("flags", [](ctprof_metric& metric) { metric.flags ^= CTPROF_METRIC_COSTLY; });
  add("entity", [](ctprof_metric& metric) { metric.entity = CTPROF_PROCESS; });
  add("storage", [](ctprof_metric& metric) { metric.storage = CTPROF_I64; });
  add("no headline", [](ctprof_metric& metric) { metric.headline = nullptr; });
  add("headline", [](ctprof_metric& metric) { metric.headline = &kOther; });
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(declared_metrics_test)

BOOST_AUTO_TEST_CASE(equal_fields_share_a_definition) {
  const SharedMetric made = define(sample_metric(), "layout");
  DeclaredMetrics declared;
  declared.add(sample_metric(), made);
  // Equal texts at different addresses.
  const std::string name = kOne.abi.name, description = kOne.abi.description;
  ctprof_metric again = sample_metric();
  again.name = name.c_str();
  again.description = description.c_str();
  again.caveat = "";  // equals a missing caveat
  const SharedMetric* found = declared.find(again);
  BOOST_REQUIRE(found);
  BOOST_TEST(&**found == &*made);
}

BOOST_AUTO_TEST_CASE(a_different_field_needs_its_own_definition) {
  DeclaredMetrics declared;
  declared.add(sample_metric(), define(sample_metric(), "layout"));
  for (const auto& [what, metric] : changed_metrics()) BOOST_TEST(!declared.find(metric), what);
}

// Returns a plugin that declares kOne as a layout plugin, or one that offers it.
Plugin make_test_plugin(const DeclaredMetrics& known, DeclaredMetrics* declares,
                        bool has_rule = false) {
  static const auto sources = sdk::SourceList<OfferingSource<kOne>>::make("x");
  static const ctprof_rule rule = [] {
    ctprof_rule made{};
    made.size = sizeof made;
    made.state_size = 8;
    made.name = "Own";
    made.fallback = "SumCount";
    made.newtypes = "MonotonicCount";
    made.add = [](void*, const ctprof_rows*) {};
    made.merge = [](void*, const void*) {};
    made.number = [](const void*) { return ctprof_number{}; };
    return made;
  }();
  ctprof_plugin table = sdk::make_plugin("x", "1", "", sources);
  if (declares) {
    table.flags |= CTPROF_PLUGIN_LAYOUT;
    table.sources = {};
    table.metrics = {&kOne.abi, 1, sizeof kOne.abi};
  }
  if (has_rule) table.rules = {&rule, 1, sizeof rule};
  return read_plugin(table, sizeof table, known, declares).value();
}

BOOST_AUTO_TEST_CASE(plugins_with_rules_share_no_definitions) {
  DeclaredMetrics of_layout, of_plugin;
  const Plugin layout = make_test_plugin({}, &of_layout),
               another = make_test_plugin({}, &of_plugin, true);
  const MetricDef& declared = *layout.declared_metrics[0];
  BOOST_TEST(&*make_test_plugin(of_layout, nullptr).sources[0].offers[0].metric == &declared);
  BOOST_TEST(&*make_test_plugin(of_layout, nullptr, true).sources[0].offers[0].metric != &declared);
  BOOST_TEST(!of_plugin.find(kOne.abi));
  DeclaredMetrics all;
  all.add(std::move(of_layout));
  BOOST_REQUIRE(all.find(kOne.abi));
  BOOST_TEST(&**all.find(kOne.abi) == &declared);
}

// A shared definition equals the definition in the plugin.
BOOST_AUTO_TEST_CASE(offers_share_the_definitions_of_the_layout_plugin) {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  const auto loaded = load_plugins({.shipped_directory = directory ? directory : ".",
                                    .directories = {},
                                    .selected_plugins = std::nullopt});
  BOOST_REQUIRE(loaded);
  std::map<std::string, const MetricDef*> declared;
  for (const Plugin& plugin : loaded->plugins)
    if (plugin.is_layout)
      for (const SharedMetric& metric : plugin.declared_metrics) declared[metric->name] = &*metric;
  BOOST_REQUIRE(declared.size() > 100);
  std::size_t offered = 0, shared = 0;
  for (const Plugin& plugin : loaded->plugins)
    for (const SourceTable& source : plugin.sources)
      for (const OfferTable& offer : source.offers) {
        const auto known = declared.find(offer.metric->name);
        if (known == declared.end()) continue;
        ++offered;
        shared += &*offer.metric == known->second;
        BOOST_TEST(has_same_meaning(*offer.metric, *known->second), offer.metric->name);
      }
  BOOST_TEST(offered > 300);
  BOOST_TEST(shared == offered);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace declared_metrics_test
