#include "core/compare/report/report.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/chosen_metrics.hpp"
#include "core/compare/figures/where.hpp"
#include "core/compare/grouping/group_book.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/failed_rows.hpp"
#include "core/compare/report/rows.hpp"
#include "core/compare/report/screen_order.hpp"
#include "core/compare/report/screen_tree.hpp"
#include "core/window/happened.hpp"

namespace ctprof {
namespace {

using Runs = std::span<const Snapshot* const>;

// By default, compare sorts by movers. show sorts groups of a window by run time, and groups of a
// snapshot by name.
std::vector<SortKey> keys_or_default(const Spec& spec, Runs runs, bool compares,
                                     const MetricPlan& plan) {
  if (!spec.sort.empty()) return keys_of_metrics(plan, spec);
  const Column* run =
      runs.front()->window ? find_role(runs.front()->threads().columns, "run-time") : nullptr;
  const PlannedMetric* metric = run ? plan.find(run->def().name) : nullptr;
  if (!compares && metric && metric->has_number())
    return {SortKey{SortKey::By::Metric, metric->name, false}};
  return {compares ? SortKey{SortKey::By::Movers, {}, false}
                   : SortKey{SortKey::By::Name, {}, true}};
}

std::vector<RunFacts> facts_of_all(std::span<ReducedRun> runs) {
  std::vector<RunFacts> facts;
  for (ReducedRun& run : runs) facts.push_back(std::move(run.facts));
  return facts;
}

std::vector<RunFigures> figures_of_all(std::span<ReducedRun> runs) {
  std::vector<RunFigures> figures;
  for (ReducedRun& run : runs) figures.push_back(std::move(run.figures));
  return figures;
}

std::vector<RunFacts> facts_of_sides(std::span<const RunFacts> runs,
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
std::vector<double> seconds_of(std::span<const RunFacts> runs) {
  std::vector<double> seconds;
  for (const RunFacts& run : runs)
    if (run.window && runs.size() > 1) seconds.push_back(run.window->rates_over_ns / 1e9);
  return seconds;
}

GroupedThreads grouped(const ReducedRun& run, const RunPlaces& places) {
  const auto& own = run.rows.of_row[static_cast<std::size_t>(Entity::Thread)];
  return {run.snapshot.get(), places.groups_of(own)};
}

// Converts a vector by the run's own groups to one by joined groups.
template <class Facts>
std::vector<Facts> placed(const std::vector<Facts>& own, const RunPlaces& places,
                          std::size_t groups) {
  std::vector<Facts> found(groups);
  for (std::size_t group = 0; group < own.size(); ++group)
    if (places.group_of[group] != kNoGroup) found[places.group_of[group]] += own[group];
  return found;
}

std::vector<KeptCount> counts_of(const ReducedRuns& reduced) {
  std::vector<KeptCount> counts;
  for (const ReducedRun& run : reduced.runs) counts.push_back(run.kept);
  return counts;
}

std::vector<const RunGroups*> groups_of(const ReducedRuns& reduced) {
  std::vector<const RunGroups*> groups;
  for (const ReducedRun& run : reduced.runs) groups.push_back(&run.rows.groups);
  return groups;
}

// Returns the metrics that exceed the allowance of some run or of all runs together.
std::vector<bool> costly(const ReducedRuns& reduced, const MetricPlan& plan,
                         const SortedWhere& where, const Grouping& grouping, const Spec& spec) {
  std::vector<std::size_t> text_bytes;
  for (const ReducedRun& run : reduced.runs) text_bytes.push_back(run.facts.text_bytes);
  std::vector<bool> costly = CostlyMetrics(plan, spec, where.groups).of_all(grouping, text_bytes);
  for (std::size_t metric = 0; metric < costly.size(); ++metric)
    if (reduced.left_out[metric]) costly[metric] = true;
  return costly;
}

// Returns a key that is equal for equal runs, independent of their order and files.
std::string key_of(std::span<const RunFacts> runs) {
  std::vector<std::string> parts;
  for (const RunFacts& run : runs)
    parts.push_back(run.meta.boot_id + " " + std::to_string(run.meta.start.wall_unix_ns));
  std::ranges::sort(parts);
  std::string key;
  for (const std::string& part : parts) key += part + "\n";
  return key;
}

}  // namespace

Report::Whole::Whole(const Spec& wanted, std::unique_ptr<MetricPlan> metrics, ReducedRuns& reduced,
                     Grouping groups)
    : runs(facts_of_all(reduced.runs)),
      side_runs(sides_of(wanted, runs.size())),
      sides(facts_of_sides(runs, side_runs)),
      spec(wanted),
      plan_at(std::move(metrics)),
      plan(*plan_at),
      grouping(std::move(groups)),
      book(std::move(reduced.stacks)),
      rollup(figures_of_all(reduced.runs), side_runs, seconds_of(runs), grouping, plan),
      changes(rollup, plan),
      families(rollup, plan, grouping, designs_of(runs, side_runs), spec.bar) {}

// Computes everything that depends on the remaining groups or needs the snapshots.
void Report::Whole::settle(std::span<const ReducedRun> reduced, std::vector<SortKey> sort,
                           std::span<const Condition> of_groups) {
  if (!of_groups.empty()) keep_groups(grouping, of_groups, rollup, plan);
  const bool compares = sides.size() > 1;
  order.emplace(rollup, grouping, plan, std::move(sort));
  find_screen(reduced);
  if (spec.about && !screen)
    plan.notes.push_back(
        "--about is ignored: it tests headlines of windows, and these files have none");
  if (spec.record_comparison && families.judge())
    was_compared = spec.record_comparison(key_of(runs));
  stacks = make_stack_section(book, plan, grouping, rollup, screen,
                              {spec.limit, Allowance(sides), spec.folds_waits},
                              {families.designs(), spec.bar}, signs);
  failing = failed_rows(spec.fail_on, plan, grouping, changes, rollup, families);
  if (!compares) return;
  for (std::string& sentence : unlike_parts(spec.fail_on, plan, grouping, changes, rollup))
    plan.notes.push_back(std::move(sentence));
  find_differences(reduced);
  find_lives();
}

void Report::Whole::find_differences(std::span<const ReducedRun> reduced) {
  std::vector<bool> wanted;
  for (const PlannedMetric& metric : plan.metrics) wanted.push_back(metric.shown);
  for (const RowAt row : failing) wanted[row.metric] = true;
  // Threads can only be followed between two snapshots.
  const auto is_snapshot = [&](std::size_t side) {
    return side_runs[side].count == 1 && !sides[side].window;
  };
  for (std::size_t side = 1; side < sides.size(); ++side) {
    const std::size_t run = side_runs[side].first;
    if (is_snapshot(0) && is_snapshot(side))
      one_boot.emplace_back(grouped(reduced[0], grouping.runs[0]),
                            grouped(reduced[run], grouping.runs[run]), grouping.names.size(), plan,
                            wanted);
    else
      one_boot.emplace_back();
    rates.emplace_back(sides, side, plan, rollup, grouping);
  }
  for (const Rates& one : rates)
    for (std::string& sentence : spec.rate ? one.why_not() : std::vector<std::string>{})
      if (std::find(plan.notes.begin(), plan.notes.end(), sentence) == plan.notes.end())
        plan.notes.push_back(std::move(sentence));
}

void Report::Whole::find_about(std::span<const ScreenColumn> columns) {
  if (!spec.about) return;
  std::vector<std::uint32_t> groups;
  for (std::uint32_t group = 0; group < grouping.names.size(); ++group)
    if (is_about(*spec.about, readable_key(grouping.names[group]))) groups.push_back(group);
  if (groups.empty()) plan.notes.push_back("no group matches --about " + spec.about->text());
  families.add_about(columns, std::move(groups));
}

void Report::Whole::find_screen(std::span<const ReducedRun> reduced) {
  const bool some_alone = !spec.metrics.empty() || !spec.sections.empty() || !spec.plugins.empty();
  const auto is_window = [](const RunFacts& run) { return run.window.has_value(); };
  if (some_alone || !std::ranges::all_of(runs, is_window)) return;
  std::vector<std::vector<ScreenThreads>> threads;
  for (const SideRuns& side : side_runs) {
    const std::size_t only = side.first;
    signs.push_back(side.count == 1
                        ? placed(reduced[only].signs, grouping.runs[only], grouping.names.size())
                        : std::vector<GroupSigns>(grouping.names.size()));
    ScreenMedians medians;
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      medians.add(placed(reduced[run].threads, grouping.runs[run], grouping.names.size()));
    threads.push_back(std::move(medians).of(grouping.names.size()));
  }
  Screen columns = screen_columns(plan, machine_of(runs));
  if (families.judge()) families.add_headlines(columns.columns, threads);
  find_about(columns.columns);
  Screen made = make_screen(std::move(columns), plan, grouping, rollup, sides, std::move(threads),
                            families.headlines(), {families.about_groups(), families.about()});
  if (name_columns(spec, made))
    sort_rows(made, spec);
  else if (spec.group_by == GroupBy::Cgroup)
    arrange_as_tree(made.rows, grouping);
  if (!made.columns.empty()) screen.emplace(std::move(made));
}

// Only for boots that are known to be different.
void Report::Whole::find_lives() {
  const auto is_of_first = [&](const RunFacts& run) { return of_one_boot(run.meta, runs[0].meta); };
  const bool are_known =
      std::ranges::none_of(runs, [](const RunFacts& run) { return run.meta.boot_id.empty(); });
  if (!are_known || std::ranges::all_of(runs, is_of_first)) return;
  if (runs.size() > sides.size() || runs[0].window) return;
  for (std::size_t side = 0; side < sides.size(); ++side)
    lives.emplace_back(sides[side].meta, rollup, side, grouping);
}

double Report::per_life(CellAt at) const {
  return tells_lives() ? whole_->lives[at.side].per_second(at, metrics()[at.metric], rollup())
                       : kNaN;
}

Result<Report> Report::make(Runs runs, const Spec& spec, const Knowledge& knowledge) {
  const auto take = [&](std::size_t run) -> Result<std::shared_ptr<const Snapshot>> {
    return std::shared_ptr<const Snapshot>(std::shared_ptr<void>(), runs[run]);
  };
  return make(runs, take, spec, knowledge);
}

Result<Report> Report::make(Runs outlines, const TakeRun& take, const Spec& spec,
                            const Knowledge& knowledge) {
  if (auto sound = check_axis(outlines, spec); !sound) return sound.error();
  auto planned = plan_metrics(outlines, spec, knowledge);
  if (!planned) return planned.error();
  auto plan = std::make_unique<MetricPlan>(std::move(*planned));
  const std::vector<SideRuns> sides = sides_of(spec, outlines.size());
  if (auto sound = check_fail_on(spec.fail_on, *plan, sides); !sound) return sound.error();
  const auto where = sort_out(spec.where, outlines, *plan);
  if (!where) return where.error();
  auto reduced = reduce_runs(outlines.size(), take, *plan, *where, spec);
  if (!reduced) return reduced.error();
  if (!where->threads.empty()) plan->notes.push_back(kept_in_words(counts_of(*reduced), sides));
  Grouping grouping = join(reduced->groups, groups_of(*reduced), sides, spec.group_by);
  if (grouping.renames_are_cut)
    plan->notes.push_back("too many cgroups are alike to find all that were renamed");
  leave_out(*plan, costly(*reduced, *plan, *where, grouping, spec), grouping.names.size());
  const bool compares = sides.size() > 1;
  std::vector<SortKey> sort = keys_or_default(spec, outlines, compares, *plan);
  auto whole = std::make_unique<Whole>(spec, std::move(plan), *reduced, std::move(grouping));
  whole->settle(reduced->runs, std::move(sort), where->groups);
  return Report(std::move(whole));
}

Report::Report(std::unique_ptr<Whole> whole) : whole_(std::move(whole)), only_(sides().size()) {
  if (compares()) find_one_sided();
  find_failed();
  find_absent();
  std::map<std::string_view, std::vector<std::uint32_t>> shown;  // by section
  for (std::uint32_t metric = 0; metric < metrics().size(); ++metric) {
    if (!metrics()[metric].shown) continue;
    auto& those = shown[metrics()[metric].section];
    if (those.empty()) sections_.push_back({.name = metrics()[metric].section, .rows = {}});
    those.push_back(metric);
  }
  std::sort(sections_.begin(), sections_.end(), [](const Section& a, const Section& b) {
    return section_place(a.name) < section_place(b.name);
  });
  for (Section& section : sections_) fill_section(section, shown.at(section.name));
}

bool tells_several_runs(const Report& report) {
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    if (report.runs(side).size() > 1) return true;
  return false;
}

}  // namespace ctprof
