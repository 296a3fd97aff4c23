// Stacks through rules, figures and reports: what functions weigh, how runs and builds join, what
// moved, and how it is told.

#define BOOST_TEST_MODULE stacks_compare
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/compare/asked/expressions.hpp"
#include "core/compare/figures/rule_states.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/report_json.hpp"
#include "core/render/stacks_text.hpp"
#include "core/rules/rule_book.hpp"
#include "core/rules/stacks.hpp"
#include "tests/unit/window_made.hpp"

namespace ctprof {
namespace {

using namespace hand_made;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
const RuleBook book;
const MetricDef kOn = metric("on", "StackNs", "StackSum");

// A stack, leaf first, as names of functions: "module:name", "module+offset" of one without a name;
// "?" before it: guessed.
struct Taken {
  std::vector<std::string> frames;
  std::uint64_t weight = 0;
  Ending ending = Ending::Root;
};
using Row = std::vector<Taken>;

// What a build of the modules is: where their functions are, and their build ids.
struct Build {
  std::uint64_t base = 0;
  std::string id = "id";
  std::string directory = "/bin/";
};

std::uint32_t add_stack(StackTable& table, const Taken& taken, const Build& build) {
  std::vector<Frame> frames;
  std::map<std::uint64_t, std::string> names;
  for (std::string text : taken.frames) {
    const bool is_guessed = text.front() == '?';
    if (is_guessed) text.erase(0, 1);
    const auto at = text.find_first_of(":+");
    const std::uint32_t module =
        table.add_module({Module::Kind::File, build.directory + text.substr(0, at), build.id, 0});
    const std::string what = text.substr(at + 1);
    const std::uint64_t offset =
        text[at] == '+' ? std::stoull(what) : build.base + std::hash<std::string>()(what) % 100000;
    if (text[at] == ':') names[offset] = what;
    frames.push_back({offset, module, is_guessed});
  }
  const std::uint32_t node = table.add_stack(frames, taken.ending);
  for (std::uint32_t frame = 1; frame < table.frames().size(); ++frame)
    if (const auto name = names.find(table.frames()[frame].offset); name != names.end())
      table.set_name(frame, name->second);
  return node;
}

void add_stacks(Snapshot& snapshot, const MetricDef& def, const std::vector<Row>& rows,
                const Build& build = {}) {
  Cells<Row> cells(rows.begin(), rows.end());
  add(snapshot, def, cells, Gap::ThreadGone,
      [&](Column& column, std::size_t row, const Row& stacks) {
        std::vector<ctprof_stack> weighted;
        for (const Taken& taken : stacks)
          weighted.push_back({add_stack(snapshot.pools->stacks.table, taken, build), taken.weight});
        column.ids()[row] = snapshot.pools->stacks.append(weighted);
      });
}

// A window of so many seconds, with a thread for each row; those of one name are a group.
Snapshot window_of(const std::vector<std::pair<std::string, Row>>& threads,
                   std::uint64_t seconds = 10, const Build& build = {},
                   const MetricDef& def = kOn) {
  std::vector<Thread> named;
  std::vector<Row> rows;
  Cells<std::uint64_t> starts;
  for (const auto& [name, row] : threads) {
    named.push_back({named.size() + 1, named.size() + 1, name, name});
    rows.push_back(row);
    starts.push_back(5);
  }
  const auto end = [&](std::uint64_t second) {
    Snapshot snapshot = snapshot_of(named);
    add_u64(snapshot, identity_metric(kStartTime), starts);
    snapshot.meta.boot_id = "b";
    snapshot.meta.start.boottime_ns = second * kSecond;
    snapshot.read_at.assign(named.size(), 1);
    return snapshot;
  };
  Snapshot made = window(end(10), end(10 + seconds));
  add_stacks(made, def, rows, build);
  return made;
}

Report report_of(const std::vector<const Snapshot*>& runs, Spec spec = {},
                 const RuleBook& rules = book) {
  auto report = Report::make(runs, spec, {&rules, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

StackGroup first_group(const Report& report) {
  BOOST_REQUIRE(report.stacks());
  BOOST_REQUIRE(!report.stacks()->groups().empty());
  return report.stacks()->of(report.stacks()->groups()[0]);
}

std::string name_of(const Report& report, const FunctionRow& row) {
  return function_in_module(report.stacks()->book().functions()[row.function]);
}

// "self total" of a function, "-" if it is not there.
std::string figures_of(const Report& report, const StackGroup& group, const std::string& name,
                       std::size_t side = 0) {
  for (const FunctionRow& row : group.functions)
    if (name_of(report, row) == name)
      return std::to_string(std::llround(row.sides[side].self)) + " " +
             std::to_string(std::llround(row.sides[side].total));
  return "-";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

// --- the rule
// --------------------------------------------------------------------------------------------

double total_of(const Report& report, std::uint32_t group = 0, std::size_t side = 0) {
  const auto* metric = &report.metrics()[0];
  while (metric->name != "on") ++metric;
  return as_double(
      report.rollup()
          .read({side, group, static_cast<std::size_t>(metric - report.metrics().data())})
          .number);
}

BOOST_AUTO_TEST_CASE(a_group_adds_up_its_threads_stack_by_stack) {
  const Row one{{{"p:f", "p:main"}, 3}, {{"p:main"}, 4}}, two{{{"p:f", "p:main"}, 5}};
  const Snapshot snapshot = window_of({{"a", one}, {"a", two}, {"b", two}});
  const Report report = report_of({&snapshot});
  BOOST_TEST(total_of(report) == 12);
  const StackGroup group = first_group(report);
  BOOST_REQUIRE_EQUAL(group.stacks.size(), 2u);
  BOOST_TEST(group.stacks[0].sides[0] == 8);
  BOOST_TEST(group.stacks[1].sides[0] == 4);
}

BOOST_AUTO_TEST_CASE(many_rows_of_the_same_stacks_are_few_stacks) {
  std::vector<std::pair<std::string, Row>> threads;
  for (int i = 0; i < 2000; ++i)
    threads.push_back({"a", {{{"p:f"}, 1}, {{"p:g"}, 2}, {{"p:h" + std::to_string(i % 7)}, 1}}});
  const Snapshot snapshot = window_of(threads);
  const Report report = report_of({&snapshot});
  BOOST_TEST(total_of(report) == 8000);
  BOOST_TEST(first_group(report).stacks.size() == 9u);
  BOOST_TEST(figures_of(report, first_group(report), "g (p)") == "4000 4000");
}

BOOST_AUTO_TEST_CASE(a_full_sum_is_a_lower_bound) {
  const Snapshot snapshot =
      window_of({{"a", {{{"p:f"}, kMost}}}, {"a", {{{"p:f"}, 1}}}, {"b", {{{"p:f"}, 1}}}});
  const Report report = report_of({&snapshot}, {.metrics = {"on"}});
  const std::size_t metric = report.stacks()->groups()[0].metric;
  BOOST_TEST(report.rollup().text({0, 0, metric}) == "≥18446744073.710s");
  BOOST_TEST(report.rollup().text({0, 1, metric}) == "1ns");
}

BOOST_AUTO_TEST_CASE(merging_equals_adding) {
  using Sets = std::vector<std::vector<ctprof_stack>>;
  static const Sets sets{{{1, 7}, {5, 3}}, {{1, kMost}}, {}, {{2, 1}, {5, 12}}};
  const ctprof_rule& rule = *book.find("StackSum");
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
    States states(rule, 1);
    states.add(rows);
    return states;
  };
  for (const auto& [a, b] :
       {std::pair(std::vector<std::uint32_t>{0, 1}, std::vector<std::uint32_t>{2, 3}),
        {{3, 2, 1}, {0}},
        {{}, {1, 0, 3, 2}}}) {
    States into = added(a), from = added(b);
    into.merge(0, from, 0);
    into.finish();
    std::string found;
    for (const ctprof_stack& each : rules::stacks_in(into[0]))
      found += std::to_string(each.stack) + ":" + std::to_string(each.weight) + " ";
    BOOST_TEST(found == "1:18446744073709551615 2:1 5:15 ");
    BOOST_TEST(rule.number(into[0]).u64 == kMost);
  }
}

// Its state is the number of frames of all stacks, by weight; and it keeps what it was shown.
struct Frames {
  std::uint64_t frames;
  const ctprof_stack* shown;
  const std::uint32_t* leaf;
};

void add_frames(void* states, const ctprof_rows* rows) {
  for (std::uint64_t row = 0; row < rows->count; ++row) {
    if (rows->groups[row] == UINT32_MAX || (rows->gaps && rows->gaps[row])) continue;
    auto& state = static_cast<Frames*>(states)[rows->groups[row]];
    std::size_t stacks = 0;
    const ctprof_stack* given =
        rows->stacks(rows->core, static_cast<const std::uint32_t*>(rows->values)[row], &stacks);
    for (std::size_t at = 0; at < stacks; ++at) {
      std::size_t frames = 0;
      const std::uint32_t* numbers = rows->frames(rows->core, given[at].stack, &frames);
      state.frames += frames * given[at].weight;
      if (!state.leaf) state.shown = given, state.leaf = numbers;
    }
  }
}
void merge_frames(void* into, const void* from) {
  static_cast<Frames*>(into)->frames += static_cast<const Frames*>(from)->frames;
}
ctprof_number number_of_frames(const void* state) {
  const auto& frames = *static_cast<const Frames*>(state);
  return number_of(frames.frames * 1000 + frames.shown[0].weight * 10 + (frames.leaf[0] > 0));
}

BOOST_AUTO_TEST_CASE(a_rule_of_a_plugin_reads_stacks_and_frames) {
  ctprof_rule rule{};
  rule.size = sizeof rule;
  rule.state_size = sizeof(Frames);
  rule.name = "far_Depth";
  rule.newtypes = "StackNs";
  rule.add = add_frames;
  rule.merge = merge_frames;
  rule.number = number_of_frames;
  RuleBook rules;
  rules.add(rule, "far", "far.so");
  MetricDef def = kOn;
  def.rule = "far_Depth";
  const Row stacks{{{"p:f", "p:g", "p:main"}, 2}};
  auto snapshot =
      std::make_unique<Snapshot>(window_of({{"a", stacks}, {"a", {{{"p:main"}, 5}}}}, 10, {}, def));
  const Report report = report_of({snapshot.get()}, {}, rules);
  snapshot.reset();
  BOOST_TEST(total_of(report) == (3 * 2 + 1 * 5) * 1000 + 20 + 1);
  BOOST_TEST(!report.stacks());
}

// --- functions
// -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_stack_counts_for_its_leaf_and_once_for_each_function) {
  const Snapshot snapshot = window_of({{"a",
                                        {{{"p:f", "p:g", "p:f", "p:main"}, 10},
                                         {{"p:f", "p:f", "p:f"}, 3},
                                         {{"p:g", "p:main"}, 5},
                                         {{"p:main"}, 1}}}});
  const Report report = report_of({&snapshot});
  const StackGroup group = first_group(report);
  BOOST_TEST(figures_of(report, group, "f (p)") == "13 13");
  BOOST_TEST(figures_of(report, group, "g (p)") == "5 15");
  BOOST_TEST(figures_of(report, group, "main (p)") == "1 16");
  BOOST_TEST(group.weights[0] == 19);
  BOOST_TEST(name_of(report, group.functions[0]) == "f (p)");
}

BOOST_AUTO_TEST_CASE(truncated_guessed_and_nameless_ones_stay_as_they_are) {
  const Snapshot snapshot = window_of({{"a",
                                        {{{"p:f", "?p:g"}, 2, Ending::Cut},
                                         {{"p+4660", "p:main"}, 7},
                                         {{"p+4661", "p:main"}, 1}}}});
  const Report report = report_of({&snapshot});
  const StackGroup group = first_group(report);
  BOOST_TEST(figures_of(report, group, "[truncated]") == "0 2");
  BOOST_TEST(figures_of(report, group, "g (guessed) (p)") == "0 2");
  BOOST_TEST(figures_of(report, group, "p+0x1234") == "7 7");
  BOOST_TEST(figures_of(report, group, "p+0x1235") == "1 1");
  const StackBook& stacks = report.stacks()->book();
  BOOST_TEST(stack_text(stacks, group.stacks[1].stack, 0) == "f ← g (guessed) ← [truncated]");
}

BOOST_AUTO_TEST_CASE(a_long_stack_is_cut_where_the_line_ends) {
  const Snapshot snapshot = window_of({{"a", {{{"p:leaf", "p:b", "p:c", "p:d", "p:main"}, 2}}}});
  const Report report = report_of({&snapshot});
  const std::uint32_t stack = first_group(report).stacks[0].stack;
  const StackBook& stacks = report.stacks()->book();
  BOOST_TEST(stack_text(stacks, stack, 0) == "leaf ← b ← c ← d ← main");
  BOOST_TEST(stack_text(stacks, stack, 23) == "leaf ← b ← c ← d ← main");
  BOOST_TEST(stack_text(stacks, stack, 22) == "leaf ← b ← … (3 more)");
  BOOST_TEST(stack_text(stacks, stack, 1) == "leaf ← … (4 more)");
}

// --- runs, builds, hosts
// ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(two_builds_compare_by_function_and_nameless_code_by_build_and_place) {
  const Row stacks{{{"p:f", "p:main"}, 10 * kMs}, {{"p+77", "p:main"}, kMs}};
  const Snapshot before = window_of({{"a", stacks}}),
                 same = window_of({{"a", stacks}}, 10, {0, "id", "/usr/bin/"}),
                 other = window_of({{"a", stacks}}, 10, {500000, "new", "/opt/"});
  const Report alike = report_of({&before, &same});
  BOOST_TEST(first_group(alike).functions.size() == 3u);
  const Report rebuilt = report_of({&before, &other});
  const StackGroup group = first_group(rebuilt);
  BOOST_TEST(group.functions.size() == 4u);
  for (const std::size_t side : {0, 1})
    BOOST_TEST(figures_of(rebuilt, group, "f (p)", side) == "1000000 1000000");
  BOOST_TEST(group.functions[0].sides[0].self + group.functions[1].sides[0].self == 1e5);
  BOOST_TEST(group.functions[0].sides[0].self * group.functions[1].sides[0].self == 0);
}

// Windows of different length: per second f takes 30 % more, all others as long as before; and they
// weigh more than it does.
BOOST_AUTO_TEST_CASE(a_function_made_slower_is_the_first_row) {
  const auto of = [](std::uint64_t f, std::uint64_t times) {
    return std::vector<std::pair<std::string, Row>>{{"a",
                                                     {{{"p:f", "p:main"}, f * times * kMs},
                                                      {{"p:g", "p:f", "p:main"}, 300 * times * kMs},
                                                      {{"p:h", "p:main"}, 650 * times * kMs}}},
                                                    {"big", {{{"q:loop"}, 5000 * times * kMs}}}};
  };
  const Snapshot before = window_of(of(100, 10)), after = window_of(of(130, 20), 20);
  const Report report = report_of({&before, &after});
  const StackGroup group = first_group(report);
  BOOST_TEST(report.grouping().names[group.at.group] == "a");
  BOOST_TEST(name_of(report, group.functions[0]) == "f (p)");
  BOOST_TEST(figures_of(report, group, "f (p)", 0) == "100000000 400000000");
  BOOST_TEST(figures_of(report, group, "f (p)", 1) == "130000000 430000000");
  BOOST_TEST(went(figures(group.functions[0], &FunctionWeight::self)) == 30e6);
  BOOST_TEST(name_of(report, group.functions[1]) == "main (p)");
  const Report turned = report_of({&after, &before});
  BOOST_TEST(went(figures(first_group(turned).functions[0], &FunctionWeight::self)) == -30e6);
}

BOOST_AUTO_TEST_CASE(of_several_runs_figures_are_medians) {
  std::vector<Snapshot> runs;
  for (const std::uint64_t f : {10, 90, 30})
    runs.push_back(window_of(
        {{"a",
          {{{"p:f"}, f * 10 * kMs}, {{"p:g"}, 500 * kMs}, {{"p:" + std::to_string(f)}, kMs}}}}));
  runs.push_back(window_of({{"a", {{{"p:g"}, 500 * kMs}}}}));
  runs.push_back(window_of({{"b", {{{"p:g"}, 500 * kMs}}}}));
  std::vector<const Snapshot*> all;
  for (const Snapshot& run : runs) all.push_back(&run);
  const Report report = report_of(all, {.side_sizes = {3, 2}});
  const StackGroup group = first_group(report);
  BOOST_TEST(figures_of(report, group, "f (p)", 0) == "30000000 30000000");
  BOOST_TEST(figures_of(report, group, "f (p)", 1) == "0 0");
  BOOST_TEST(figures_of(report, group, "g (p)", 0) == "50000000 50000000");
  BOOST_TEST(figures_of(report, group, "g (p)", 1) == "25000000 25000000");  // one run lacks it
  BOOST_TEST(figures_of(report, group, "30 (p)") == "-");  // zero in the median of the runs
  BOOST_TEST(group.weights[0] == 80.1e6);
}

// Figures stay after the runs are gone.
BOOST_AUTO_TEST_CASE(a_report_needs_no_snapshots) {
  auto snapshot = std::make_unique<Snapshot>(window_of({{"a", {{{"p:f", "p:main"}, 3}}}}));
  const Report report = report_of({snapshot.get()});
  snapshot.reset();
  BOOST_TEST(figures_of(report, first_group(report), "f (p)") == "3 3");
}

BOOST_AUTO_TEST_CASE(what_a_side_has_not_got_is_no_change) {
  const std::vector<std::pair<std::string, Row>> both{{"a", {{{"p:f"}, 9 * kMs}}},
                                                      {"b", {{{"p:g"}, 3 * kMs}}}};
  const Snapshot before = window_of(both);
  Snapshot after = window_of(both);
  after.threads().find("on")->gaps()[0] = static_cast<ctprof_gap>(Gap::ThreadGone);
  const Report unread = report_of({&before, &after});
  const StackGroup group = first_group(unread);
  BOOST_TEST(group.functions[0].sides[0].self == 9e5);
  BOOST_TEST(std::isnan(group.functions[0].sides[1].self));
  BOOST_TEST(went(figures(group.functions[0], &FunctionWeight::self)) == 0);
  const Snapshot gone = window_of({{"b", {{{"p:g"}, 3 * kMs}}}});
  const StackGroup first = first_group(report_of({&before, &gone}));
  BOOST_TEST(went(figures(first.functions[0], &FunctionWeight::self)) == -9e5);
  after.threads().find("on")->gaps()[1] = static_cast<ctprof_gap>(Gap::ThreadGone);
  const Report none = report_of({&before, &after});
  BOOST_TEST(none.stacks()->groups().empty());
  BOOST_TEST(has(none.notes().back(), "the stacks of 'on' are not told"));
}

// --- conditions
// ------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(totals_are_numbers_like_any_other) {
  const Snapshot snapshot =
      window_of({{"a", {{{"p:f"}, 9}}}, {"a", {{{"p:f"}, 2}}}, {"b", {{{"p:f"}, 10}}}});
  Where where;
  BOOST_REQUIRE(add_condition(where, "on > 5"));
  const Report of_threads = report_of({&snapshot}, {.where = where});
  BOOST_TEST(total_of(of_threads) == 9);
  auto fails = parse_fail_on("on > 10", false);
  BOOST_REQUIRE(fails);
  std::vector<Condition> conditions;
  conditions.push_back(std::move(*fails));
  const Report failed = report_of({&snapshot}, {.fail_on = std::move(conditions)});
  BOOST_REQUIRE_EQUAL(failed.failed().rows.size(), 1u);
  BOOST_TEST(failed.grouping().names[failed.failed().rows[0].group] == "a");
}

BOOST_AUTO_TEST_CASE(the_busiest_thread_is_the_one_with_the_heaviest_stacks) {
  const Snapshot snapshot = window_of({{"a", {{{"p:f"}, 9}}}, {"a", {{{"p:f"}, 5}, {{"p:g"}, 5}}}});
  const Report report = report_of({&snapshot});
  const RowAt at = report.stacks()->groups()[0];
  const Busiest* busiest = report.rollup().busiest({0, at.group, at.metric});
  BOOST_REQUIRE(busiest);
  BOOST_TEST((busiest->tid == 2 && busiest->reading == 10));
}

BOOST_AUTO_TEST_CASE(the_section_can_be_asked_for_alone) {
  Snapshot snapshot = window_of({{"a", {{{"p:f"}, 9}}}});
  add_u64(snapshot, metric("run", "MonotonicNs", "SumNs"), {1});
  const Report report = report_of({&snapshot}, {.sections = {"stacks"}});
  for (const PlannedMetric& metric : report.metrics())
    BOOST_TEST(metric.shown == (metric.name == "on"));
  BOOST_TEST(!report_of({&snapshot}, {.metrics = {"run"}}).stacks());
}

BOOST_AUTO_TEST_CASE(the_limit_is_of_groups_functions_and_stacks) {
  const Row stacks{{{"p:f", "p:main"}, 9}, {{"p:g", "p:main"}, 5}};
  const Snapshot snapshot = window_of({{"a", stacks}, {"b", stacks}, {"b", stacks}});
  const Report report = report_of({&snapshot}, {.limit = 1});
  BOOST_TEST(report.stacks()->groups().size() == 1u);
  BOOST_TEST(report.stacks()->cut() == 1u);
  const StackGroup group = first_group(report);
  BOOST_TEST(report.grouping().names[group.at.group] == "b");
  BOOST_TEST((group.functions.size() == 1 && group.functions_cut == 2));
  BOOST_TEST((group.stacks.size() == 1 && group.stacks_cut == 1));
}

// A small file with a chain of calls that thousands of rows stand at the end of.
BOOST_AUTO_TEST_CASE(work_is_in_proportion_to_the_files) {
  Taken deep{{}, 1};
  for (int i = 0; i < 100'000; ++i) deep.frames.push_back("p+" + std::to_string(i % 2));
  std::vector<std::pair<std::string, Row>> threads;
  for (int i = 0; i < 2000; ++i)
    threads.push_back({std::string(1 + i / 26, 'x') + char('a' + i % 26), {}});
  Snapshot snapshot = window_of(threads);
  std::vector<ctprof_stack> end{{add_stack(snapshot.pools->stacks.table, deep, {}), 1}};
  Column& column = *snapshot.threads().find("on");
  for (std::size_t row = 0; row < threads.size(); ++row)
    column.ids()[row] = snapshot.pools->stacks.append(end);
  snapshot.text_bytes = 400'000;
  const Report report = report_of({&snapshot}, {.literal_names = true});
  BOOST_TEST(report.stacks()->left_out() > 1000u);
  BOOST_TEST(report.stacks()->groups().size() > 100u);
  BOOST_REQUIRE(!report.notes().empty());
  BOOST_TEST(has(report.notes().back(), "are left out"));
}

// --- told
// ------------------------------------------------------------------------------------------------

class Kept final : public Sink {
 public:
  Result<void> write(std::string_view more) override { return text += more, Result<void>{}; }
  std::string text;
};

const std::vector<std::pair<std::string, Row>> kTwo{
    {"a", {{{"p:hot", "p:main"}, 700 * kMs}, {{"p:warm", "p:main"}, 300 * kMs}}}};

BOOST_AUTO_TEST_CASE(text_has_shares_and_amounts) {
  const Snapshot snapshot = window_of(kTwo);
  const std::string text = stacks_text(report_of({&snapshot}), {.width = 80}, {});
  BOOST_TEST(text ==
             "\n## stacks\n\non of a: 1.00s\n"
             " self      %  total       %  function  module\n"
             "700ms  70.0%  700ms   70.0%  hot       p\n"
             "300ms  30.0%  300ms   30.0%  warm      p\n"
             "    0   0.0%  1.00s  100.0%  main      p\n"
             "stacks      %  leaf ← caller\n"
             " 700ms  70.0%  hot ← main\n"
             " 300ms  30.0%  warm ← main\n");
}

BOOST_AUTO_TEST_CASE(text_of_two_windows_has_both_and_the_change) {
  auto more = kTwo;
  more[0].second[0].weight = 1700 * kMs;
  const Snapshot before = window_of(kTwo), after = window_of(more);
  const std::string text = stacks_text(report_of({&before, &after}), {.width = 120}, 1);
  for (const char* part : {"on of a: 100→200ms/s", "+100ms/s", "70.0→170ms/s", "70.0→85.0%",
                           "2 more functions, 1 more stack (--limit 0 shows all)"})
    BOOST_TEST(has(text, part), part << " in\n" << text);
}

BOOST_AUTO_TEST_CASE(names_cannot_harm_a_terminal) {
  const Snapshot snapshot =
      window_of({{"a", {{{"p\x1b[2J:f\n\x1b]0;\xe2\x80\xae", "p:" + std::string(9000, 'x')}, 1}}}});
  const Report report = report_of({&snapshot});
  Kept csv;
  BOOST_REQUIRE(write_report_csv(report, csv));
  for (const std::string& text : {stacks_text(report, {}, 0), csv.text}) {
    BOOST_TEST(!has(text, "\x1b"));
    BOOST_TEST(!has(text, "\xe2\x80\xae"));
    BOOST_TEST(!has(text, std::string(2000, 'x')));
    BOOST_TEST(has(text, "f\\n\\x1b]0;\\u202e"));
  }
}

BOOST_AUTO_TEST_CASE(json_names_each_function_once) {
  auto more = kTwo;
  more[0].second[0].weight = 1700 * kMs;
  const Snapshot before = window_of(kTwo), after = window_of(more);
  const std::string files[] = {"a.zst", "b.zst"};
  Kept kept;
  BOOST_REQUIRE(write_report_json(report_of({&before, &after}), files, kept));
  const auto json = boost::json::parse(kept.text);
  const auto& stacks = json.at("stacks");
  BOOST_TEST(stacks.at("functions").as_array().size() == 3u);
  BOOST_TEST(stacks.at_pointer("/functions/0/name").as_string() == "hot");
  BOOST_TEST(stacks.at_pointer("/functions/0/module").as_string() == "p");
  BOOST_TEST(stacks.at_pointer("/groups/0/weights/1").to_number<double>() == 200e6);
  BOOST_TEST(stacks.at_pointer("/groups/0/functions/0/function").to_number<int>() == 0);
  BOOST_TEST(stacks.at_pointer("/groups/0/functions/0/self/0").to_number<double>() == 70e6);
  BOOST_TEST(stacks.at_pointer("/groups/0/stacks/0/weights/1").to_number<double>() == 170e6);
  BOOST_TEST(stacks.at_pointer("/groups/0/stacks/0/functions").as_array().size() == 2u);
}

BOOST_AUTO_TEST_CASE(csv_has_a_line_for_each_figure) {
  const Snapshot snapshot = window_of(kTwo);
  Kept kept;
  BOOST_REQUIRE(write_report_csv(report_of({&snapshot}), kept));
  for (const char* line :
       {"primary,a,on,self hot (p),ns,700000000", "primary,a,on,total main (p),ns,1000000000",
        "primary,a,on,stack warm ← main,ns,300000000"})
    BOOST_TEST(has(kept.text, line), line << " in\n" << kept.text);
}

}  // namespace
}  // namespace ctprof
