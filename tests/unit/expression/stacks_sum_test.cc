// Tests the sums of stacks that built-in rules and a plugin rule compute.

#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

#include "core/compare/figures/rule_states.hpp"
#include "core/rules/stacks.hpp"
#include "tests/unit/support/stack_reports.hpp"

namespace ctprof::stacks_sum_test {
namespace {

using namespace hand_made;

BOOST_AUTO_TEST_SUITE(stacks_sum_test)

BOOST_AUTO_TEST_CASE(adds_the_weights_of_equal_stacks_of_a_group) {
  const NamedStacks one{{{"p:f", "p:main"}, 3}, {{"p:main"}, 4}}, two{{{"p:f", "p:main"}, 5}};
  const Snapshot snapshot = window_of({{"a", one}, {"a", two}, {"b", two}});
  const Report report = report_of({&snapshot});
  BOOST_TEST(total_of(report) == 12);
  const StackGroup group = first_group(report);
  BOOST_REQUIRE_EQUAL(group.stacks.size(), 2u);
  BOOST_TEST(group.stacks[0].sides[0] == 8);
  BOOST_TEST(group.stacks[1].sides[0] == 4);
}

BOOST_AUTO_TEST_CASE(stores_equal_stacks_of_many_rows_once) {
  std::vector<std::pair<std::string, NamedStacks>> threads;
  for (int i = 0; i < 2000; ++i)
    threads.push_back({"a", {{{"p:f"}, 1}, {{"p:g"}, 2}, {{"p:h" + std::to_string(i % 7)}, 1}}});
  const Snapshot snapshot = window_of(threads);
  const Report report = report_of({&snapshot});
  BOOST_TEST(total_of(report) == 8000);
  BOOST_TEST(first_group(report).stacks.size() == 9u);
  BOOST_TEST(weights_of(report, first_group(report), "g (p)") == "4000 4000");
}

BOOST_AUTO_TEST_CASE(a_full_sum_is_a_lower_bound) {
  const Snapshot snapshot =
      window_of({{"a", {{{"p:f"}, kMaxU64}}}, {"a", {{{"p:f"}, 1}}}, {"b", {{{"p:f"}, 1}}}});
  const Report report = report_of({&snapshot}, {.metrics = {"on"}});
  const std::size_t metric = report.stacks()->groups()[0].metric;
  BOOST_TEST(report.rollup().text({0, 0, metric}) == "≥18446744073.710s");
  BOOST_TEST(report.rollup().text({0, 1, metric}) == "1ns");
}

BOOST_AUTO_TEST_CASE(merging_equals_adding) {
  using Sets = std::vector<std::vector<ctprof_stack>>;
  static const Sets sets{{{1, 7}, {5, 3}}, {{1, kMaxU64}}, {}, {{2, 1}, {5, 12}}};
  const ctprof_rule& rule = *kRuleSet.find("StackSum");
  const auto added = [&](const std::vector<std::uint32_t>& ids) {
    const std::vector<std::uint32_t> groups(ids.size());
    ctprof_rows rows{};
    rows.count = ids.size();
    rows.groups = groups.data();
    rows.values = ids.data();
    rows.stacks = [](const void*, std::uint32_t id, std::size_t* stacks) {
      *stacks = sets[id].size();
      return sets[id].data();
    };
    RuleStates states(rule, 1);
    states.add(rows);
    return states;
  };
  for (const auto& [a, b] :
       {std::pair(std::vector<std::uint32_t>{0, 1}, std::vector<std::uint32_t>{2, 3}),
        {{3, 2, 1}, {0}},
        {{}, {1, 0, 3, 2}}}) {
    RuleStates into = added(a), from = added(b);
    into.merge(0, from, 0);
    into.finish();
    std::string found;
    for (const ctprof_stack& each : rules::stacks_in(into[0]))
      found += std::to_string(each.stack) + ":" + std::to_string(each.weight) + " ";
    BOOST_TEST(found == "1:18446744073709551615 2:1 5:15 ");
    BOOST_TEST(rule.number(into[0]).u64 == kMaxU64);
  }
}

// State of a plugin rule: the number of frames of all stacks, multiplied by weight, and the last
// stacks that it received.
struct FrameCount {
  std::uint64_t frames;
  const ctprof_stack* first_stacks;
  const std::uint32_t* leaf;
};

void add_frames(void* states, const ctprof_rows* rows) {
  for (std::uint64_t row = 0; row < rows->count; ++row) {
    if (rows->groups[row] == UINT32_MAX || (rows->gaps && rows->gaps[row])) continue;
    auto& state = static_cast<FrameCount*>(states)[rows->groups[row]];
    std::size_t stacks = 0;
    const ctprof_stack* weighted_stacks =
        rows->stacks(rows->core, static_cast<const std::uint32_t*>(rows->values)[row], &stacks);
    for (std::size_t at = 0; at < stacks; ++at) {
      std::size_t frames = 0;
      const std::uint32_t* numbers = rows->frames(rows->core, weighted_stacks[at].stack, &frames);
      state.frames += frames * weighted_stacks[at].weight;
      if (!state.leaf) state.first_stacks = weighted_stacks, state.leaf = numbers;
    }
  }
}
void merge_frames(void* into, const void* from) {
  static_cast<FrameCount*>(into)->frames += static_cast<const FrameCount*>(from)->frames;
}
ctprof_number number_of_frames(const void* state) {
  const auto& frames = *static_cast<const FrameCount*>(state);
  return make_number(frames.frames * 1000 + frames.first_stacks[0].weight * 10 +
                     (frames.leaf[0] > 0));
}

BOOST_AUTO_TEST_CASE(a_plugin_rule_reads_stacks_and_frames) {
  ctprof_rule rule{};
  rule.size = sizeof rule;
  rule.state_size = sizeof(FrameCount);
  rule.name = "far_Depth";
  rule.newtypes = "StackNs";
  rule.add = add_frames;
  rule.merge = merge_frames;
  rule.number = number_of_frames;
  RuleSet rules;
  rules.add(rule, "far", "far.so");
  MetricDef def = kOnCpu;
  def.rule = "far_Depth";
  const NamedStacks stacks{{{"p:f", "p:g", "p:main"}, 2}};
  auto snapshot =
      std::make_unique<Snapshot>(window_of({{"a", stacks}, {"a", {{{"p:main"}, 5}}}}, 10, {}, def));
  const Report report = report_of({snapshot.get()}, {}, rules);
  snapshot.reset();
  BOOST_TEST(total_of(report) == (3 * 2 + 1 * 5) * 1000 + 20 + 1);
  BOOST_TEST(!report.stacks());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::stacks_sum_test
