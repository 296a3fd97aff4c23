#include "core/compare/report/report.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/where.hpp"
#include "core/compare/grouping/group_book.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/failed_rows.hpp"
#include "core/compare/report/rows.hpp"
#include "core/compare/report/screen_tree.hpp"
#include "core/window/happened.hpp"

namespace ctprof {
namespace {

using Runs = std::span<const Snapshot* const>;

// The groups of a window that ran most come first; those of a snapshot go by their names.
std::vector<SortKey> keys_or_default(const Spec& spec, Runs runs, bool compares,
                                     const MetricPlan& plan) {
  if (!spec.sort.empty()) return spec.sort;
  const Column* run =
      runs.front()->window ? find_role(runs.front()->threads().columns, "run-time") : nullptr;
  const PlannedMetric* metric = run ? plan.find(run->def().name) : nullptr;
  if (!compares && metric && metric->has_number())
    return {SortKey{SortKey::By::Metric, metric->name, false}};
  return {compares ? SortKey{SortKey::By::Movers, {}, false}
                   : SortKey{SortKey::By::Name, {}, true}};
}

bool is_zero(const ctprof_number& number) { return has_value(number) && as_double(number) == 0; }

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

// What each run's figures per second are taken over; nothing where totals are told.
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

// Of a run's own groups, by common ones.
std::vector<ScreenThreads> placed(std::span<const ScreenThreads> own, const RunPlaces& places,
                                  std::size_t groups) {
  std::vector<ScreenThreads> found(groups);
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

// Which metrics some run, or all together, have no room for.
std::vector<bool> costly(const ReducedRuns& reduced, const MetricPlan& plan,
                         const SortedWhere& where, const Grouping& grouping, const Spec& spec) {
  std::vector<std::size_t> text_bytes;
  for (const ReducedRun& run : reduced.runs) text_bytes.push_back(run.facts.text_bytes);
  std::vector<bool> costly = CostlyMetrics(plan, spec, where.groups).of_all(grouping, text_bytes);
  for (std::size_t metric = 0; metric < costly.size(); ++metric)
    if (reduced.left_out[metric]) costly[metric] = true;
  return costly;
}

// Whether a row with several changes moved: it did if any of them did.
Moved moved_in_all(std::span<const Change> changes) {
  for (const Moved moved : {Moved::Yes, Moved::OneSide, Moved::No})
    if (std::any_of(changes.begin(), changes.end(),
                    [&](const Change& change) { return change.moved == moved; }))
      return moved;
  return Moved::Nowhere;
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

// Finds what depends on the groups that are left, or needs the snapshots once more.
void Report::Whole::settle(std::span<const ReducedRun> reduced, std::vector<SortKey> sort,
                           std::span<const Condition> of_groups) {
  if (!of_groups.empty()) keep_groups(grouping, of_groups, rollup, plan);
  const bool compares = sides.size() > 1;
  order.emplace(rollup, grouping, plan, std::move(sort));
  find_screen(reduced);
  stacks = make_stack_section(book, plan, grouping, rollup, screen, {spec.limit, Allowance(sides)},
                              {families.designs(), spec.bar});
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
  // Only of two snapshots the threads are followed from one to the other.
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

void Report::Whole::find_screen(std::span<const ReducedRun> reduced) {
  const bool some_alone = !spec.metrics.empty() || !spec.sections.empty() || !spec.plugins.empty();
  const auto is_window = [](const RunFacts& run) { return run.window.has_value(); };
  if (some_alone || !std::ranges::all_of(runs, is_window)) return;
  std::vector<std::vector<ScreenThreads>> threads;
  for (const SideRuns& side : side_runs) {
    ScreenMedians medians;
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      medians.add(placed(reduced[run].threads, grouping.runs[run], grouping.names.size()));
    threads.push_back(std::move(medians).of(grouping.names.size()));
  }
  Screen columns = screen_columns(plan);
  if (families.judge()) families.add_headlines(columns.columns, threads);
  Screen made = make_screen(std::move(columns), plan, grouping, rollup, sides, std::move(threads),
                            families.headlines());
  if (spec.group_by == GroupBy::Cgroup) arrange_as_tree(made.rows, grouping);
  if (!made.columns.empty()) screen.emplace(std::move(made));
}

// Of boots that are known to be different.
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
                       : std::numeric_limits<double>::quiet_NaN();
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

// Whether its absence is not worth a word: a derived metric that was not asked for by name, with an
// input for which no side has a column, because the input's plugin took no part.
bool Report::is_expected_absence(const PlannedMetric& metric) const {
  const auto& named = spec().metrics;
  const bool is_named = std::find(named.begin(), named.end(), metric.name) != named.end();
  return !is_named &&
         std::find(metric.inputs.begin(), metric.inputs.end(), std::nullopt) != metric.inputs.end();
}

// A metric that a side has no value of is told once, not in a row for every group.
void Report::find_absent() {
  is_absent_.resize(metrics().size());
  for (std::uint32_t metric = 0; metric < metrics().size(); ++metric) {
    if (!metrics()[metric].shown) continue;
    Absent absent{metric, {}};
    for (std::size_t side = 0; side < sides().size(); ++side) {
      bool any = false;
      const std::size_t groups = grouping().count(metrics()[metric].entity);
      for (std::uint32_t group = 0; group < groups && !any; ++group)
        any = rollup().read({side, group, metric}).has_value();
      absent.on.push_back(!any);
    }
    if (std::find(absent.on.begin(), absent.on.end(), true) == absent.on.end()) continue;
    is_absent_[metric] = true;
    if (!is_expected_absence(metrics()[metric])) absent_.push_back(std::move(absent));
  }
}

std::size_t Report::sides_with(std::uint32_t group) const {
  std::size_t having = 0;
  for (std::size_t side = 0; side < sides().size(); ++side) having += grouping().has(side, group);
  return having;
}

void Report::find_one_sided() {
  std::vector<std::vector<std::pair<double, std::uint32_t>>> found(sides().size());
  for (std::uint32_t group = 0; group < grouping().names.size(); ++group) {
    if (sides_with(group) != 1) continue;
    std::size_t side = 0;
    while (!grouping().has(side, group)) ++side;
    double most = 0;
    bool has_any = grouping().sides[side].rows(Entity::Thread, group) > 0 ||
                   grouping().sides[side].rows(Entity::Cgroup, group) > 0;
    for (std::uint32_t metric = 0; metric < metrics().size(); ++metric)
      if (metrics()[metric].shown && metrics()[metric].entity != Entity::Host) {
        most = std::max(most, whole_->order->share({side, group, metric}));
        has_any = has_any || rollup().read({side, group, metric}).has_value();
      }
    if (!has_any) continue;  // a single process, with no metric that is shown
    found[side].emplace_back(-most, group);
  }
  for (std::size_t side = 0; side < sides().size(); ++side) {
    std::sort(found[side].begin(), found[side].end());
    const std::size_t limit = spec().limit ? spec().limit : found[side].size();
    for (const auto& [share, group] : found[side])
      if (only_[side].groups.size() < limit) only_[side].groups.push_back(group);
    only_[side].cut = found[side].size() - only_[side].groups.size();
  }
}

void Report::find_failed() {
  failed_.name = "failed";
  std::vector<RankedRow> found;
  for (const RowAt row : whole_->failing) found.push_back(whole_->order->ranked(row));
  const std::size_t all = found.size();
  failed_.rows = whole_->order->sorted(std::move(found), spec().limit);
  failed_.cut = all - failed_.rows.size();
  cut_lines(failed_);
}

// The limit counts lines, and a map has one for each key.
void Report::cut_lines(Section& section) const {
  std::size_t left = spec().limit;
  for (std::size_t at = 0; spec().limit > 0 && at < section.rows.size(); ++at) {
    const RowAt row = section.rows[at];
    std::size_t lines = 1;
    if (metrics()[row.metric].is_map()) {
      lines = key_figures(*this, row).size() / sides().size();
      // For programs a map without keys is a line too.
      if (!spec().moved_only) lines = std::max<std::size_t>(1, lines);
    }
    if (lines < left || (lines == left && at + 1 == section.rows.size())) {
      left -= lines;
      continue;
    }
    section.cut_keys = lines - left;
    section.cut += section.rows.size() - (at + 1);
    return section.rows.resize(at + 1);
  }
}

void Report::fill_section(Section& section, std::span<const std::uint32_t> those) const {
  std::vector<RankedRow> taken;
  for (const std::uint32_t metric : those) {
    const std::size_t groups = grouping().count(metrics()[metric].entity);
    for (std::uint32_t group = 0; group < groups; ++group)
      take_row(section, {group, metric}, taken);
  }
  const std::size_t found = taken.size();
  const bool by_evidence = families().judge() && spec().judge_rows && spec().sort.empty();
  section.rows = whole_->order->sorted(std::move(taken), by_evidence ? 0 : spec().limit);
  if (by_evidence) {
    std::stable_partition(section.rows.begin(), section.rows.end(),
                          [&](RowAt row) { return is_proven(row); });
    if (spec().limit > 0) section.rows.resize(std::min(spec().limit, section.rows.size()));
  }
  section.cut = found - section.rows.size();
  cut_lines(section);
}

bool Report::is_proven(RowAt row) const {
  for (std::size_t side = 1; side < sides().size(); ++side)
    if (const auto proof = families().details()->of(row.group, row.metric, side);
        proof && proof->proven)
      return true;
  return false;
}

void Report::take_row(Section& section, RowAt row, std::vector<RankedRow>& taken) const {
  if (!compares()) return take_value(section, row, taken);
  const bool of_host = metrics()[row.metric].entity == Entity::Host;
  if (of_host || sides_with(row.group) > 1) take_change(section, row, taken);
}

void Report::take_change(Section& section, RowAt row, std::vector<RankedRow>& taken) const {
  const CellValue baseline = rollup().read({0, row.group, row.metric});
  std::uint64_t rows = baseline.coverage.rows;
  std::vector<Change> changes;
  for (std::size_t side = 1; side < sides().size(); ++side) {
    const CellValue candidate = rollup().read({side, row.group, row.metric});
    rows += candidate.coverage.rows;
    changes.push_back(this->changes().between(baseline, candidate, row.metric));
  }
  if (rows == 0) return;  // the metric has no meaning for this group
  if (spec().moved_only) {
    if (is_absent_[row.metric]) return;  // told separately
    const Moved moved = moved_in_all(changes);
    if (moved == Moved::No) return void(++section.still);
    if (moved == Moved::Nowhere) return void(++section.missing);
  }
  taken.push_back(whole_->order->ranked(row, changes));
}

// Whether the row tells of a state that a window found and left, unless the user asked for it.
bool Report::stood_still(RowAt row) const {
  if (!sides().front().window || !spec().metrics.empty()) return false;
  const std::string& family = metrics()[row.metric].family;
  const Difference change = rollup().change({0, row.group, row.metric});
  return family == "categorical" || family == "limit" || (change.known() && change.zero());
}

void Report::take_value(Section& section, RowAt row, std::vector<RankedRow>& taken) const {
  const CellValue reading = rollup().read({0, row.group, row.metric});
  if (reading.coverage.rows == 0) return;
  if (spec().moved_only) {
    if (is_absent_[row.metric]) return;
    if (!reading.has_value()) return void(++section.missing);
    if (is_zero(reading.number) || stood_still(row)) return void(++section.still);
  }
  taken.push_back(whole_->order->ranked(row));
}

bool Report::fails(RowAt row) const {
  return std::binary_search(
      whole_->failing.begin(), whole_->failing.end(), row,
      [](RowAt a, RowAt b) { return std::pair(a.group, a.metric) < std::pair(b.group, b.metric); });
}

std::vector<std::uint32_t> Report::weightiest(std::size_t side, std::uint32_t group) const {
  std::vector<std::pair<double, std::uint32_t>> found;
  for (std::uint32_t metric = 0; metric < metrics().size(); ++metric) {
    const CellAt at{side, group, metric};
    const bool counts = metrics()[metric].shown && metrics()[metric].entity != Entity::Host;
    if (counts && rollup().read(at).has_value())
      found.emplace_back(-whole_->order->share(at), metric);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::uint32_t> order;
  for (const auto& [share, metric] : found) order.push_back(metric);
  return order;
}

bool tells_several_runs(const Report& report) {
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    if (report.runs(side).size() > 1) return true;
  return false;
}

}  // namespace ctprof
