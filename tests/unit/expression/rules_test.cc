// Tests every built-in rule: the value of a group, the change between two groups, and that merging
// gives the same result as adding. Also tests that the table of rules is complete.

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/report/report.hpp"
#include "core/rules/maps.hpp"
#include "core/rules/rule_set.hpp"
#include "core/rules/stacks.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::rules_test {
namespace {

using namespace hand_made;

constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();

// One value as text and JSON, as a rule writes it.
struct PrintedValue {
  std::string text, json;
};

// Returns a snapshot with a group of as many threads as there are cells, on one side.
template <class Fill>
Snapshot one_group(std::size_t threads, Fill fill) {
  std::vector<Thread> rows;
  for (std::uint64_t tid = 1; tid <= threads; ++tid) rows.push_back({1, tid, "p", "p"});
  Snapshot snapshot = snapshot_of(rows);
  fill(snapshot);
  return snapshot;
}

const RuleSet kRuleSet;

template <class Fill>
PrintedValue print_value(std::size_t threads, Fill fill) {
  const Snapshot snapshot = one_group(threads, fill);
  const Snapshot* sides[] = {&snapshot};
  const auto report = Report::make(sides, {.metrics = {"m"}}, {&kRuleSet, {}});
  BOOST_REQUIRE(report);
  const auto metric =
      static_cast<std::size_t>(std::find_if(report->metrics().begin(), report->metrics().end(),
                                            [](const auto& m) { return m.name == "m"; }) -
                               report->metrics().begin());
  PrintedValue out{report->rollup().text({0, 0, metric}), {}};
  report->rollup().append_json(out.json, {0, 0, metric});
  return out;
}

PrintedValue of_u64(std::string_view newtype, std::string_view rule,
                    const Cells<std::uint64_t>& cells) {
  return print_value(cells.size(),
                     [&](Snapshot& s) { add_u64(s, metric("m", newtype, rule), cells); });
}
PrintedValue of_i64(std::string_view newtype, std::string_view rule,
                    const Cells<std::int64_t>& cells) {
  return print_value(cells.size(),
                     [&](Snapshot& s) { add_i64(s, metric("m", newtype, rule), cells); });
}

PrintedValue of_f64(std::string_view rule, const Cells<double>& cells) {
  return print_value(cells.size(),
                     [&](Snapshot& s) { add_f64(s, metric("m", "GaugeF64", rule), cells); });
}

// Returns the change from one group to another.
template <class Fill>
Change change_between(Fill before, Fill after, std::size_t threads) {
  const Snapshot a = one_group(threads, before), b = one_group(threads, after);
  const Snapshot* sides[] = {&a, &b};
  const auto report = Report::make(sides, {.metrics = {"m"}}, {&kRuleSet, {}});
  BOOST_REQUIRE(report);
  for (std::size_t i = 0; i < report->metrics().size(); ++i)
    if (report->metrics()[i].name == "m") return report->changes().change(0, i, 1);
  BOOST_FAIL("no such metric");
  return {};
}
Change change_between_u64(std::string_view newtype, std::string_view rule, Cells<std::uint64_t> a,
                          Cells<std::uint64_t> b) {
  const MetricDef def = metric("m", newtype, rule);
  using Fill = std::function<void(Snapshot&)>;
  return change_between(Fill([&](Snapshot& s) { add_u64(s, def, a); }),
                        Fill([&](Snapshot& s) { add_u64(s, def, b); }), a.size());
}

BOOST_AUTO_TEST_SUITE(rules_test)

BOOST_AUTO_TEST_CASE(the_table_of_rules_is_complete) {
  for (const RuleInfo& info : kRules) {
    const ctprof_rule* rule = kRuleSet.find(info.name);
    BOOST_REQUIRE_MESSAGE(rule, "no rule " << info.name);
    BOOST_TEST(rule->size == sizeof(ctprof_rule));
    BOOST_TEST((rule->add && rule->merge && rule->description));
    BOOST_TEST(rule->fallback == nullptr);
  }
  BOOST_TEST(builtin_rules().size() == kRules.size());
  // Each newtype can be read by each of its rules.
  for (const NewtypeInfo& newtype : kNewtypes)
    for (const RuleInfo& info : kRules)
      BOOST_TEST(is_listed(newtype.rules, info.name) ==
                 is_listed(kRuleSet.find(info.name)->newtypes, newtype.name));
}

BOOST_AUTO_TEST_CASE(sums_saturate_and_print_with_a_prefix) {
  BOOST_TEST(of_u64("MonotonicNs", "SumNs", {1'000'000, 500'000}).text == "1.500ms");
  BOOST_TEST(of_u64("Bytes", "SumBytes", {1024, 512}).text == "1.500KiB");
  BOOST_TEST(of_u64("MonotonicUs", "SumUs", {1, 2}).json == "3");
  BOOST_TEST(of_u64("ClockTicks", "SumTicks", {20, 2}).text == "22ticks");
  BOOST_TEST(of_u64("GaugeCount", "SumGaugeCount", {20, 2}).json == "22");
  BOOST_TEST(of_u64("GaugeBytes", "SumGaugeBytes", {1024, 512}).text == "1.500KiB");
  BOOST_TEST(of_u64("MonotonicCount", "SumCount", {kMaxU64, 1}).json == "18446744073709551615");
  BOOST_TEST(of_u64("MonotonicNs", "SumNs", {kMaxU64, 1}).text == "≥18446744073.710s");
  BOOST_TEST(of_u64("MonotonicNs", "SumNs", {kMaxU64 - 1}).text == "18446744073.710s");
}

BOOST_AUTO_TEST_CASE(sums_fractions) {
  BOOST_TEST(of_f64("SumGaugeF64", {0.5, {}, 0.25}).json == "0.75");
  BOOST_TEST(of_f64("MaxGaugeF64", {-0.5, {}, -0.25}).json == "-0.25");
  BOOST_TEST(of_f64("MeanGaugeF64", {0.5, {}, 0.25}).json == "0.375");
  for (const char* rule : {"SumGaugeF64", "MaxGaugeF64", "MeanGaugeF64"}) {
    BOOST_TEST(of_f64(rule, {{}, {}}).json == "null");
    BOOST_TEST(of_f64(rule, {0.0}).json == "0");
  }
}

BOOST_AUTO_TEST_CASE(distinguishes_missing_values_from_zero) {
  BOOST_TEST(of_u64("MonotonicNs", "SumNs", {{}, {}}).json == "null");
  BOOST_TEST(of_u64("MonotonicNs", "SumNs", {{}, {}}).text == "-");
  BOOST_TEST(of_u64("MonotonicNs", "SumNs", {{}, 0}).json == "0");
  BOOST_TEST(of_u64("PeakNs", "MaxPeak", {{}}).json == "null");
  BOOST_TEST(of_u64("OrdinalU64", "RangeU64", {{}}).json == "null");
}

BOOST_AUTO_TEST_CASE(computes_minimum_and_maximum) {
  BOOST_TEST(of_u64("PeakNs", "MaxPeak", {5, 70, 6}).text == "70ns");
  BOOST_TEST(of_u64("GaugeRatio100", "MaxRatio", {1234, 5}).text == "12.34%");
  BOOST_TEST(of_u64("GaugeRatio100", "MaxRatio", {1234, 5}).json == "12.34");
  BOOST_TEST(of_i64("OrdinalI32", "MaxOrdinal", {-5, -7}).json == "-5");
  BOOST_TEST(of_u64("OrdinalU64", "MaxOrdinal", {kMaxU64, 1}).json == "18446744073709551615");
  const auto flag = [](const Cells<bool>& cells) {
    return print_value(cells.size(),
                       [&](Snapshot& s) { add_bool(s, metric("m", "Flag", "AnyFlag"), cells); });
  };
  BOOST_TEST(flag({false, true}).json == "true");
  BOOST_TEST(flag({false, {}}).text == "false");
}

BOOST_AUTO_TEST_CASE(limits_can_be_infinite) {
  BOOST_TEST(of_u64("LimitBytes", "LimitMax", {2048, kMaxU64}).text == "max");
  BOOST_TEST(of_u64("LimitBytes", "LimitMax", {2048, kMaxU64}).json == "\"max\"");
  BOOST_TEST(of_u64("LimitUs", "LimitMax", {2000, 3000}).text == "3.000ms");
  BOOST_TEST(of_u64("FloorBytes", "FloorMin", {2048, kMaxU64}).text == "2.000KiB");
  BOOST_TEST(of_u64("FloorBytes", "FloorMin", {kMaxU64}).text == "max");
  const Change opened = change_between_u64("LimitBytes", "LimitMax", {2048}, {kMaxU64});
  BOOST_TEST(!opened.difference.is_known());
  BOOST_TEST(opened.rule_text == "differs");
  BOOST_TEST((opened.state == ChangeState::Changed));
  BOOST_TEST((change_between_u64("LimitBytes", "LimitMax", {kMaxU64}, {kMaxU64}).state ==
              ChangeState::Unchanged));
  BOOST_TEST(change_between_u64("LimitBytes", "LimitMax", {2048}, {1024}).difference.real == -1024);
}

BOOST_AUTO_TEST_CASE(computes_ranges) {
  BOOST_TEST(of_i64("OrdinalI32", "RangeI32", {5, -3, 0}).text == "-3..5");
  BOOST_TEST(of_i64("OrdinalI32", "RangeI32", {5, -3, 0}).json == "{\"min\":-3,\"max\":5}");
  BOOST_TEST(of_i64("OrdinalI32", "RangeI32", {-3, -3}).text == "-3");
  BOOST_TEST(of_u64("OrdinalU32", "RangeU32", {1, 99}).text == "1..99");
  const Change wider = change_between_u64("OrdinalU32", "RangeU32", {1, 3}, {0, 4});
  BOOST_TEST(wider.difference.is_zero());
  BOOST_TEST(wider.rule_text == "differs");
  BOOST_TEST((wider.state == ChangeState::Changed));
  BOOST_TEST(change_between_u64("OrdinalU32", "RangeU32", {1, 2}, {2, 2}).difference.real == 0.5);
}

PrintedValue of_text(const Cells<std::string>& cells) {
  return print_value(cells.size(), [&](Snapshot& s) {
    add_text(s, metric("m", "CategoricalString", "Mode"), cells);
  });
}

BOOST_AUTO_TEST_CASE(computes_the_most_frequent_value) {
  BOOST_TEST(of_text({"a", "a"}).text == "a");
  BOOST_TEST(of_text({"b", "a", "b"}).text == "b (2/3)");
  BOOST_TEST(of_text({"b", "a"}).json == "{\"value\":\"a\",\"count\":1,\"total\":2}");
  BOOST_TEST(of_text({{}, {}}).text == "-");
  const auto flags = [](const Cells<bool>& cells) {
    return print_value(cells.size(),
                       [&](Snapshot& s) { add_bool(s, metric("m", "Flag", "ModeBool"), cells); });
  };
  BOOST_TEST(flags({true, false}).text == "false (1/2)");
  BOOST_TEST(flags({true}).json == "{\"value\":true,\"count\":1,\"total\":1}");
}

PrintedValue of_cpus(const Cells<std::uint64_t>& words) {
  return print_value(words.size(),
                     [&](Snapshot& s) { add_bits(s, metric("m", "CpuSet", "Affinity"), words); });
}

BOOST_AUTO_TEST_CASE(merges_cpu_affinities) {
  BOOST_TEST(of_cpus({0x10f, 0x10f}).text == "5 cpus (0-3,8)");
  BOOST_TEST(of_cpus({0x10f}).json == "{\"min\":5,\"max\":5,\"cpus\":\"0-3,8\"}");
  BOOST_TEST(of_cpus({0x3, 0x6}).text == "2 cpus (mixed)");
  BOOST_TEST(of_cpus({0x1, 0xff, 0x1}).text == "1-8 cpus (mixed)");
  BOOST_TEST(of_cpus({0x1, 0xff}).json == "{\"min\":1,\"max\":8,\"cpus\":null}");
}

BOOST_AUTO_TEST_CASE(aggregates_maps_key_by_key) {
  const auto map = [](std::string_view newtype, std::string_view rule, std::string keys,
                      const Cells<MapValue>& cells) {
    return print_value(cells.size(), [&](Snapshot& s) {
      MetricDef def = metric("m", newtype, rule);
      def.map_keys = std::move(keys);
      add_map(s, def, cells);
    });
  };
  const Cells<MapValue> cells{MapValue{{"anon", 2048}, {"pgfault", 3}},
                              MapValue{{"anon", 1024}, {"file", 7}, {"pgfault", 4}},
                              {}};
  BOOST_TEST(map("CountMap", "MapSum", "", cells).json ==
             "{\"anon\":3072,\"file\":7,\"pgfault\":7}");
  BOOST_TEST(map("MixedMap", "MapMixed", "gauge bytes: anon fi*", cells).json ==
             "{\"anon\":2048,\"file\":7,\"pgfault\":7}");
  BOOST_TEST(map("MixedMap", "MapMixed", "gauge bytes: anon fi*", cells).text ==
             "anon 2.000KiB\nfile 7B\npgfault 7");
  BOOST_TEST(map("CountMap", "MapSum", "", {MapValue{{"k", kMaxU64}}, MapValue{{"k", 1}}}).json ==
             "{\"k\":18446744073709551615}");
  BOOST_TEST(map("CountMap", "MapSum", "", {{}, {}}).json == "null");
}

BOOST_AUTO_TEST_CASE(declared_map_keys_set_gauges_and_units) {
  constexpr std::string_view kKeys = "gauge bytes: anon file; counter ns: X_*";
  BOOST_TEST(rules::find_key_kind(kKeys, "file").is_gauge);
  BOOST_TEST(rules::find_key_kind(kKeys, "file").unit == "bytes");
  BOOST_TEST(!rules::find_key_kind(kKeys, "X_wait").is_gauge);
  BOOST_TEST(rules::find_key_kind(kKeys, "X_wait").unit == "ns");
  BOOST_TEST(rules::find_key_kind(kKeys, "other").unit.empty());
  BOOST_TEST(rules::find_key_kind("", "other").unit.empty());
}

// Returns the text that a rule prints in addition to its value.
std::string extra_text(const ctprof_rule& rule, const RuleStates& states) {
  std::string out;
  const ctprof_sink sink{sizeof sink, 0, &out, [](void* to, const char* data, std::size_t size) {
                           static_cast<std::string*>(to)->append(data, size);
                         }};
  if (rule.extras) rule.extras(states[0], &sink);
  return out;
}

// Merging two halves must give the same result as adding the whole, in either order.
BOOST_AUTO_TEST_CASE(merging_equals_adding) {
  const std::vector<std::uint64_t> values{7, 3, kMaxU64, 0, 7, 12};
  for (const ctprof_rule* rule : builtin_rules()) {
    const RuleInfo& info = *find_rule(rule->name);
    const bool scalar = info.reduction == Reduction::Sum || info.reduction == Reduction::Max ||
                        info.reduction == Reduction::Min || info.reduction == Reduction::Range;
    if (!scalar || rules::is_stack_sum(*rule)) continue;  // see stacks_compare_test.cc
    const auto added = [&](std::size_t first, std::size_t last) {
      const std::vector<std::uint32_t> groups(last - first, 0);
      ctprof_rows rows{};
      rows.size = sizeof rows;
      rows.count = last - first;
      rows.groups = groups.data();
      rows.values = values.data() + first;
      RuleStates states(*rule, 1);
      states.add(rows);
      return states;
    };
    const RuleStates whole = added(0, 6);
    for (const bool swapped : {false, true}) {
      RuleStates into = swapped ? added(3, 6) : added(0, 3);
      const RuleStates from = swapped ? added(0, 3) : added(3, 6);
      rule->merge(const_cast<void*>(into[0]), from[0]);
      const RuleStates untouched = added(0, 0);
      rule->merge(const_cast<void*>(into[0]), untouched[0]);
      BOOST_TEST(as_double(rule->number(into[0])) == as_double(rule->number(whole[0])), rule->name);
      BOOST_TEST(extra_text(*rule, into) == extra_text(*rule, whole), rule->name);
    }
  }
}

// Returns the state of a rule for one group whose rows have these ids: texts "a" to "c", and three
// sets and three maps of the same numbers.
RuleStates state_of_ids(const ctprof_rule& rule, std::span<const std::uint32_t> ids) {
  const std::vector<std::uint32_t> groups(ids.size(), 0);
  ctprof_rows rows{};
  rows.size = sizeof rows;
  rows.count = ids.size();
  rows.groups = groups.data();
  rows.values = ids.data();
  rows.text = [](const void*, std::uint32_t id) { return ctprof_text{&"abc"[id], 1}; };
  rows.bits = [](const void*, std::uint32_t id, std::size_t* words) {
    static constexpr std::uint64_t kSets[]{0x3, 0x6, 0xf};
    *words = 1;
    return &kSets[id];
  };
  rows.map = [](const void*, std::uint32_t id, std::size_t* entries) {
    static constexpr ctprof_entry kMaps[]{{{"k", 1}, 1}, {{"j", 1}, 2}, {{"k", 1}, 4}};
    *entries = 1;
    return &kMaps[id];
  };
  RuleStates states(rule, 1);
  states.add(rows);
  return states;
}

std::string printed(const ctprof_rule& rule, const RuleStates& states) {
  std::string text;
  const ctprof_sink sink = make_text_sink(text);
  rule.text(states[0], "count", &sink);
  rule.json(states[0], &sink);
  return text;
}

// The second half begins with the value of the first one, and continues with others.
BOOST_AUTO_TEST_CASE(merging_equals_adding_for_texts_sets_and_maps) {
  const std::vector<std::uint32_t> ids{0, 0, 0, 0, 1, 2};
  for (const char* name : {"Mode", "ModeChar", "Affinity", "MapSum", "MapMixed"}) {
    const ctprof_rule& rule = *kRuleSet.find(name);
    const std::string whole = printed(rule, state_of_ids(rule, ids));
    for (std::size_t split = 0; split <= ids.size(); ++split) {
      const auto first = std::span(ids).first(split), second = std::span(ids).subspan(split);
      RuleStates forward = state_of_ids(rule, first), backward = state_of_ids(rule, second);
      forward.merge(0, state_of_ids(rule, second), 0);
      BOOST_TEST(printed(rule, forward) == whole, name << " " << split);
      backward.merge(0, state_of_ids(rule, first), 0);
      BOOST_TEST(printed(rule, backward) == whole, name << " " << split << " in reverse");
    }
  }
}

// The description that a rule gives of itself equals the SDK table's entry for it.
BOOST_AUTO_TEST_CASE(rule_descriptions_match_the_sdk) {
  const auto number_of = [](Reduction reduction) {
    switch (reduction) {
      case Reduction::Sum: return CTPROF_REDUCES_BY_SUM;
      case Reduction::Max: return CTPROF_REDUCES_BY_MAX;
      case Reduction::Min: return CTPROF_REDUCES_BY_MIN;
      case Reduction::Range: return CTPROF_REDUCES_TO_RANGE;
      case Reduction::Mode: return CTPROF_REDUCES_TO_MODE;
      case Reduction::Affinity: return CTPROF_REDUCES_TO_AFFINITY;
      case Reduction::PerKey: return CTPROF_REDUCES_BY_KEY;
      case Reduction::Mean:
      case Reduction::None: break;
    }
    return CTPROF_REDUCES_OTHERWISE;
  };
  for (const ctprof_rule* rule : builtin_rules())
    BOOST_TEST(rule->reduction ==
                   static_cast<ctprof_reduction>(number_of(find_rule(rule->name)->reduction)),
               rule->name);
}

BOOST_AUTO_TEST_CASE(uses_plugin_rules_and_fallbacks) {
  RuleSet with_plugin;
  ctprof_rule plugin_rule = *kRuleSet.find("SumNs");
  plugin_rule.name = "mine.P99";
  with_plugin.add(plugin_rule, "mine");
  bool is_fallback = true;
  BOOST_TEST(with_plugin.find("mine.P99", "MaxPeak", &is_fallback) == &plugin_rule);
  BOOST_TEST(!is_fallback);
  BOOST_TEST(kRuleSet.find("mine.P99", "MaxPeak", &is_fallback)->name == std::string("MaxPeak"));
  BOOST_TEST(is_fallback);
  BOOST_TEST(!kRuleSet.find("mine.P99"));
  ctprof_rule duplicate_rule = plugin_rule;
  duplicate_rule.name = "SumNs";
  with_plugin.add(duplicate_rule, "mine");
  BOOST_TEST(with_plugin.find("SumNs") == kRuleSet.find("SumNs"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::rules_test
