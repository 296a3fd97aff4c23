#include "core/compare/report/report.hpp"
#include "core/compare/figures/plan_metrics.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/chosen_metrics.hpp"
#include "core/compare/figures/where.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/grouping/row_grouper.hpp"
#include "core/compare/report/fail_on_rows.hpp"
#include "core/compare/report/screen_order.hpp"
#include "core/compare/report/screen_tree.hpp"
#include "core/compare/request/spec.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

using Runs = std::span<const Snapshot* const>;

// By default, compare sorts by movers. show sorts groups of a window by run time, and groups of a
// snapshot by name.
std::vector<SortKey> choose_sort_keys(const Spec& spec, Runs runs, bool compares,
                                      const MetricPlan& plan) {
  if (!spec.sort.empty()) return resolve_sort_keys(plan, spec);
  const Column* run =
      runs.front()->window ? find_role(runs.front()->threads().columns, "run-time") : nullptr;
  const PlannedMetric* metric = run ? plan.find(run->def().name) : nullptr;
  if (!compares && metric && metric->has_number())
    return {SortKey{SortKey::Criterion::Metric, metric->name, false}};
  return {compares ? SortKey{SortKey::Criterion::Movers, {}, false}
                   : SortKey{SortKey::Criterion::Name, {}, true}};
}

std::vector<RunFacts> take_facts(std::span<ReducedRun> runs) {
  std::vector<RunFacts> facts;
  for (ReducedRun& run : runs) facts.push_back(std::move(run.facts));
  return facts;
}

std::vector<RunFigures> take_figures(std::span<ReducedRun> runs) {
  std::vector<RunFigures> figures;
  for (ReducedRun& run : runs) figures.push_back(std::move(run.figures));
  return figures;
}

std::vector<RunFacts> collect_side_facts(std::span<const RunFacts> runs,
                                         std::span<const SideRuns> sides) {
  std::vector<RunFacts> facts;
  for (const SideRuns& side : sides) {
    facts.push_back(runs[side.first]);
    facts.back().text_bytes = 0;
    for (const RunFacts& run : runs.subspan(side.first, side.count))
      facts.back().text_bytes += run.text_bytes;
  }
  return facts;
}

// Returns the duration for the rates of each run; empty if totals are shown.
std::vector<double> rate_durations_of(std::span<const RunFacts> runs) {
  std::vector<double> seconds;
  for (const RunFacts& run : runs)
    if (run.window && runs.size() > 1) seconds.push_back(run.window->rates_over_ns / 1e9);
  return seconds;
}

GroupedThreads group_threads(const ReducedRun& run, const RunGroupMap& places) {
  const auto& groups_of_rows = run.rows.group_of_row[static_cast<std::size_t>(Entity::Thread)];
  return {run.snapshot.get(), places.groups_of(groups_of_rows)};
}

// Converts a vector by the run's own groups to one by joined groups.
template <class Facts>
std::vector<Facts> convert_to_joined_groups(const std::vector<Facts>& facts_by_own_group,
                                            const RunGroupMap& places, std::size_t groups) {
  std::vector<Facts> found(groups);
  for (std::size_t group = 0; group < facts_by_own_group.size(); ++group)
    if (places.group_of[group] != kNoGroup)
      found[places.group_of[group]] += facts_by_own_group[group];
  return found;
}

std::vector<KeptCount> kept_counts_of(const ReducedRuns& reduced) {
  std::vector<KeptCount> counts;
  for (const ReducedRun& run : reduced.runs) counts.push_back(run.kept_threads);
  return counts;
}

std::vector<const RunGroups*> groups_of(const ReducedRuns& reduced) {
  std::vector<const RunGroups*> groups;
  for (const ReducedRun& run : reduced.runs) groups.push_back(&run.rows.groups);
  return groups;
}

// Returns the metrics that exceed the allowance of some run or of all runs together.
std::vector<bool> find_expensive_metrics(const ReducedRuns& reduced, const MetricPlan& plan,
                                         const ClassifiedConditions& where,
                                         const Grouping& grouping, const Spec& spec) {
  std::vector<std::size_t> text_bytes;
  for (const ReducedRun& run : reduced.runs) text_bytes.push_back(run.facts.text_bytes);
  std::vector<bool> is_over_allowance =
      ExpensiveMetricFilter(plan, spec, where.groups).find_for_all_runs(grouping, text_bytes);
  for (std::size_t metric = 0; metric < is_over_allowance.size(); ++metric)
    if (reduced.is_omitted[metric]) is_over_allowance[metric] = true;
  return is_over_allowance;
}

// Returns a key that is equal for equal runs, independent of their order and files.
std::string comparison_key(std::span<const RunFacts> runs) {
  std::vector<std::string> parts;
  for (const RunFacts& run : runs)
    parts.push_back(run.meta.boot_id + " " + std::to_string(run.meta.start.wall_unix_ns));
  std::ranges::sort(parts);
  std::string key;
  for (const std::string& part : parts) key += part + "\n";
  return key;
}

}  // namespace

Report::Data::Data(const Spec& requested_spec, std::unique_ptr<MetricPlan> metrics,
                   ReducedRuns& reduced, Grouping groups)
    : runs(take_facts(reduced.runs)),
      side_runs(divide_into_sides(requested_spec, runs.size())),
      sides(collect_side_facts(runs, side_runs)),
      spec(requested_spec),
      owned_plan(std::move(metrics)),
      plan(*owned_plan),
      grouping(std::move(groups)),
      common(std::move(reduced.stacks)),
      rollup(take_figures(reduced.runs), side_runs, rate_durations_of(runs), grouping, plan),
      changes(rollup, plan),
      families(rollup, plan, grouping, find_designs(runs, side_runs), spec.significance) {}

// Computes everything that depends on the remaining groups or needs the snapshots.
void Report::Data::finish(std::span<const ReducedRun> reduced, std::vector<SortKey> sort,
                          std::span<const Condition> group_conditions) {
  if (!group_conditions.empty()) filter_groups(grouping, group_conditions, rollup, plan);
  const bool compares = sides.size() > 1;
  order.emplace(rollup, grouping, plan, std::move(sort));
  build_screen(reduced);
  if (spec.about && !screen)
    plan.notes.push_back(
        "--about is ignored: it tests headlines of windows, and these files have none");
  if (spec.record_comparison && families.can_test())
    was_compared = spec.record_comparison(comparison_key(runs));
  stacks = make_stack_section(common, plan, grouping, rollup, screen,
                              {spec.limit, Allowance(sides), spec.folds_waits},
                              {families.designs(), spec.significance, spec.tests_shares}, signs);
  if (spec.tests_shares && !stacks)
    plan.notes.push_back("--shares has no effect: it compares call stacks, and no side has any");
  fail_on_rows = find_fail_on_rows(spec.fail_on, plan, grouping, changes, rollup, families);
  if (!compares) return;
  for (std::string& sentence :
       describe_untestable_metrics(spec.fail_on, plan, grouping, changes, rollup))
    plan.notes.push_back(std::move(sentence));
  compare_sides(reduced);
  compute_group_ages();
}

void Report::Data::compare_sides(std::span<const ReducedRun> reduced) {
  std::vector<bool> needs_origin;
  for (const PlannedMetric& metric : plan.metrics) needs_origin.push_back(metric.is_shown);
  for (const RowPosition row : fail_on_rows) needs_origin[row.metric] = true;
  // Threads can only be followed between two snapshots.
  const auto is_snapshot = [&](std::size_t side) {
    return side_runs[side].count == 1 && !sides[side].window;
  };
  for (std::size_t side = 1; side < sides.size(); ++side) {
    const std::size_t run = side_runs[side].first;
    if (is_snapshot(0) && is_snapshot(side))
      thread_turnovers.emplace_back(group_threads(reduced[0], grouping.runs[0]),
                                    group_threads(reduced[run], grouping.runs[run]),
                                    grouping.names.size(), plan, needs_origin);
    else
      thread_turnovers.emplace_back();
    rates.emplace_back(sides, side, plan, rollup, grouping);
  }
  for (const Rates& one : rates)
    for (std::string& sentence :
         spec.rate ? one.explain_missing_rates() : std::vector<std::string>{})
      if (std::find(plan.notes.begin(), plan.notes.end(), sentence) == plan.notes.end())
        plan.notes.push_back(std::move(sentence));
}

void Report::Data::select_about_groups(std::span<const ScreenColumn> columns) {
  if (!spec.about) return;
  std::vector<std::uint32_t> groups;
  for (std::uint32_t group = 0; group < grouping.names.size(); ++group) {
    const std::string_view name =
        name_in_condition(grouping, grouping.names[group], spec.about->text());
    if (matches_about(*spec.about, readable_key(name))) groups.push_back(group);
  }
  if (groups.empty()) plan.notes.push_back("no group matches --about " + spec.about->text());
  families.add_about(columns, std::move(groups));
}

void Report::Data::build_screen(std::span<const ReducedRun> reduced) {
  const bool is_selection =
      !spec.metrics.empty() || !spec.sections.empty() || !spec.plugins.empty();
  const auto is_window = [](const RunFacts& run) { return run.window.has_value(); };
  if (is_selection || !std::ranges::all_of(runs, is_window)) return;
  std::vector<std::vector<ScreenThreads>> threads;
  for (const SideRuns& side : side_runs) {
    const std::size_t only_run = side.first;
    signs.push_back(side.count == 1
                        ? convert_to_joined_groups(reduced[only_run].signs, grouping.runs[only_run],
                                                   grouping.names.size())
                        : std::vector<GroupSigns>(grouping.names.size()));
    busiest_excluded.push_back(side.count == 1 ? reduced[only_run].busiest_excluded
                                               : std::vector<ExcludedProcesses>());
    ScreenMedians medians;
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      medians.add(convert_to_joined_groups(reduced[run].threads, grouping.runs[run],
                                           grouping.names.size()));
    threads.push_back(std::move(medians).compute(grouping.names.size()));
  }
  Screen columns = screen_columns(plan, find_machine_capacity(runs));
  if (families.can_test()) families.add_headlines(columns.columns, threads);
  select_about_groups(columns.columns);
  Screen new_screen =
      make_screen(std::move(columns), plan, grouping, rollup, sides, std::move(threads),
                  families.headlines(), {families.about_groups(), families.get_about_evidence()});
  if (sort_keys_are_columns(spec, new_screen))
    sort_rows(new_screen, spec);
  else if (spec.group_by == GroupBy::Cgroup)
    arrange_as_tree(new_screen.rows, grouping);
  if (!new_screen.columns.empty()) screen.emplace(std::move(new_screen));
}

// Only for boots that are known to be different.
void Report::Data::compute_group_ages() {
  const auto is_of_first = [&](const RunFacts& run) {
    return have_same_boot(run.meta, runs[0].meta);
  };
  const bool are_known =
      std::ranges::none_of(runs, [](const RunFacts& run) { return run.meta.boot_id.empty(); });
  if (!are_known || std::ranges::all_of(runs, is_of_first)) return;
  if (runs.size() > sides.size() || runs[0].window) return;
  for (std::size_t side = 0; side < sides.size(); ++side)
    group_ages.emplace_back(sides[side].meta, rollup, side, grouping);
}

double Report::per_second_of_age(CellPosition at) const {
  return shows_per_age() ? data_->group_ages[at.side].per_second(at, metrics()[at.metric], rollup())
                         : kNaN;
}

Result<Report> Report::make(Runs runs, const Spec& spec,
                            const PluginDefinitions& plugin_definitions) {
  const auto load = [&](std::size_t run) -> Result<std::shared_ptr<const Snapshot>> {
    return std::shared_ptr<const Snapshot>(std::shared_ptr<void>(), runs[run]);
  };
  return make(runs, load, spec, plugin_definitions);
}

Result<Report> Report::make(Runs outlines, const LoadRun& load, const Spec& spec,
                            const PluginDefinitions& plugin_definitions) {
  CTPROF_TRY(check_axis(outlines, spec));
  CTPROF_TRY_VALUE(auto planned, plan_metrics(outlines, spec, plugin_definitions));
  auto plan = std::make_unique<MetricPlan>(std::move(planned));
  const std::vector<SideRuns> sides = divide_into_sides(spec, outlines.size());
  CTPROF_TRY(check_fail_on(spec.fail_on, *plan, sides));
  CTPROF_TRY_VALUE(const auto where, classify_conditions(spec.where, outlines, *plan, spec.entity));
  CTPROF_TRY_VALUE(auto reduced, reduce_runs(outlines.size(), load, *plan, where, spec));
  if (!where.threads.empty())
    plan->notes.push_back(describe_kept_threads(kept_counts_of(reduced), sides, spec.entity));
  Grouping grouping = join(reduced.groups, groups_of(reduced), sides, spec.group_by);
  if (grouping.renames_are_incomplete)
    plan->notes.push_back("cannot find all renamed cgroups: too many cgroups are similar");
  omit_metrics(*plan, find_expensive_metrics(reduced, *plan, where, grouping, spec),
               grouping.names.size());
  const bool compares = sides.size() > 1;
  std::vector<SortKey> sort = choose_sort_keys(spec, outlines, compares, *plan);
  auto data = std::make_unique<Data>(spec, std::move(plan), reduced, std::move(grouping));
  data->finish(reduced.runs, std::move(sort), where.groups);
  return Report(std::move(data));
}

Report::Report(std::unique_ptr<Data> data)
    : data_(std::move(data)), one_sided_groups_(sides().size()) {
  if (is_comparison()) find_one_sided_groups();
  fill_fail_on_section();
  find_absent_metrics();
  std::map<std::string_view, std::vector<std::uint32_t>> shown_metrics;  // by section
  for (std::uint32_t metric = 0; metric < metrics().size(); ++metric) {
    if (!metrics()[metric].is_shown) continue;
    auto& metrics_of_section = shown_metrics[metrics()[metric].section];
    if (metrics_of_section.empty())
      sections_.push_back({.name = metrics()[metric].section, .rows = {}});
    metrics_of_section.push_back(metric);
  }
  std::sort(sections_.begin(), sections_.end(), [](const Section& a, const Section& b) {
    return section_sort_key(a.name) < section_sort_key(b.name);
  });
  for (Section& section : sections_) fill_section(section, shown_metrics.at(section.name));
}

bool has_several_runs(const Report& report) {
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    if (report.runs(side).size() > 1) return true;
  return false;
}

}  // namespace ctprof
