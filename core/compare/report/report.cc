#include "core/compare/report/report.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/compare/asked/section.hpp"
#include "core/compare/figures/affordable.hpp"
#include "core/compare/figures/sorted_where.hpp"
#include "core/compare/grouping/kept_threads.hpp"
#include "core/compare/report/failed_rows.hpp"
#include "core/compare/report/group_choice.hpp"

namespace ctprof {
namespace {

std::vector<SortKey> keys_or_default(const Spec& spec, std::size_t sides) {
  if (!spec.sort.empty()) return spec.sort;
  return {sides == 2 ? SortKey{SortKey::By::Movers, {}, false}
                     : SortKey{SortKey::By::Name, {}, true}};
}

std::vector<Members> members_of(const Grouping& grouping) {
  std::vector<Members> members;
  for (const SideGroups& side : grouping.sides)
    members.emplace_back(side.of_row[static_cast<std::size_t>(Entity::Thread)],
                         grouping.names.size());
  return members;
}

bool is_zero(const ctprof_number& number) { return has_value(number) && as_double(number) == 0; }

}  // namespace

Report::Whole::Whole(std::span<const Snapshot* const> given, const Spec& wanted, MetricPlan metrics,
                     Grouping groups)
    : sides(given.begin(), given.end()),
      spec(wanted),
      grouping(std::move(groups)),
      plan(std::move(metrics)),
      rollup(sides, grouping, plan),
      changes(rollup, plan),
      order(rollup, grouping, plan, keys_or_default(spec, sides.size())),
      members(members_of(grouping)),
      lives(sides, grouping),
      origins(plan, lives, members),
      rates(sides, plan, grouping, members) {
  if (!spec.rate) return;
  for (std::string& sentence : rates.why_not()) plan.notes.push_back(std::move(sentence));
}

Result<Report> Report::make(std::span<const Snapshot* const> sides, const Spec& spec,
                            const Knowledge& knowledge) {
  auto plan = plan_metrics(sides, spec, knowledge);
  if (!plan) return plan.error();
  if (auto sound = check_fail_on(spec.fail_on, *plan); !sound) return sound.error();
  const auto where = sort_out(spec.where, sides, *plan);
  if (!where) return where.error();
  const auto kept = kept_threads(sides, where->threads);
  if (std::string words = kept_in_words(kept); !words.empty())
    plan->notes.push_back(std::move(words));
  Grouping grouping = group_rows(sides, spec, kept);
  if (grouping.renames_are_cut)
    plan->notes.push_back("too many cgroups are alike to find all that were renamed");
  leave_out_costly(*plan, grouping, spec, where->groups, sides);
  if (!where->groups.empty()) keep_groups(grouping, where->groups, sides, *plan);
  return Report(std::make_unique<Whole>(sides, spec, std::move(*plan), std::move(grouping)));
}

Report::Report(std::unique_ptr<Whole> whole) : whole_(std::move(whole)) {
  if (sides().size() == 2) {
    find_one_sided();
    find_failed();
  }
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

// A metric that a side has nothing of is said once, not in a row for every group.
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
      absent.on[side] = !any;
    }
    if (!absent.on[0] && !absent.on[1]) continue;
    absent_.push_back(absent);
    is_absent_[metric] = true;
  }
}

void Report::find_one_sided() {
  std::array<std::vector<std::pair<double, std::uint32_t>>, kMostSides> found;
  for (std::uint32_t group = 0; group < grouping().names.size(); ++group) {
    const bool before = grouping().has(0, group), after = grouping().has(1, group);
    if (before == after) continue;
    const std::size_t side = before ? 0 : 1;
    double most = 0;
    for (std::uint32_t metric = 0; metric < metrics().size(); ++metric)
      if (metrics()[metric].shown && metrics()[metric].entity != Entity::Host)
        most = std::max(most, whole_->order.share({side, group, metric}));
    found[side].emplace_back(-most, group);
  }
  for (std::size_t side = 0; side < kMostSides; ++side) {
    std::sort(found[side].begin(), found[side].end());
    const std::size_t limit = spec().limit ? spec().limit : found[side].size();
    for (const auto& [share, group] : found[side])
      if (only_[side].groups.size() < limit) only_[side].groups.push_back(group);
    only_[side].cut = found[side].size() - only_[side].groups.size();
  }
}

void Report::find_failed() {
  failed_.name = "failed";
  failing_ = failed_rows(spec().fail_on, whole_->plan, grouping(), changes(), rollup());
  std::vector<RankedRow> found;
  for (const RowAt row : failing_) found.push_back(whole_->order.ranked(row, nullptr));
  const std::size_t all = found.size();
  failed_.rows = whole_->order.sorted(std::move(found), spec().limit);
  failed_.cut = all - failed_.rows.size();
}

void Report::fill_section(Section& section, std::span<const std::uint32_t> those) const {
  std::vector<RankedRow> taken;
  for (const std::uint32_t metric : those) {
    const std::size_t groups = grouping().count(metrics()[metric].entity);
    for (std::uint32_t group = 0; group < groups; ++group)
      take_row(section, {group, metric}, taken);
  }
  const std::size_t found = taken.size();
  section.rows = whole_->order.sorted(std::move(taken), spec().limit);
  section.cut = found - section.rows.size();
}

void Report::take_row(Section& section, RowAt row, std::vector<RankedRow>& taken) const {
  const auto exists = [&](std::size_t side) {
    return metrics()[row.metric].entity == Entity::Host || grouping().has(side, row.group);
  };
  if (sides().size() == 1) return take_value(section, row, taken);
  if (!exists(0) || !exists(1)) return;  // told apart
  const Reading before = rollup().read({0, row.group, row.metric}),
                after = rollup().read({1, row.group, row.metric});
  if (before.coverage.rows + after.coverage.rows == 0)
    return;  // the question has no meaning for this group
  const Change change = changes().between(before, after, row.metric);
  if (spec().moved_only) {
    if (is_absent_[row.metric]) return;  // told apart
    if (change.moved == Moved::No) return void(++section.still);
    if (change.moved == Moved::Nowhere) return void(++section.missing);
  }
  taken.push_back(whole_->order.ranked(row, &change));
}

void Report::take_value(Section& section, RowAt row, std::vector<RankedRow>& taken) const {
  const Reading reading = rollup().read({0, row.group, row.metric});
  if (reading.coverage.rows == 0) return;
  if (spec().moved_only) {
    if (is_absent_[row.metric]) return;
    if (!reading.has_value()) return void(++section.missing);
    if (is_zero(reading.number)) return void(++section.still);
  }
  taken.push_back(whole_->order.ranked(row, nullptr));
}

bool Report::fails(RowAt row) const {
  return std::binary_search(failing_.begin(), failing_.end(), row, [](RowAt a, RowAt b) {
    return std::pair(a.group, a.metric) < std::pair(b.group, b.metric);
  });
}

std::optional<Busiest> Report::busiest(CellAt at) const {
  const PlannedMetric& metric = metrics()[at.metric];
  if (metric.entity != Entity::Thread) return {};
  return busiest_thread(*sides()[at.side], whole_->members[at.side], metric, at);
}

std::vector<std::uint32_t> Report::weightiest(std::size_t side, std::uint32_t group) const {
  std::vector<std::pair<double, std::uint32_t>> found;
  for (std::uint32_t metric = 0; metric < metrics().size(); ++metric) {
    const CellAt at{side, group, metric};
    const bool counts = metrics()[metric].shown && metrics()[metric].entity != Entity::Host;
    if (counts && rollup().read(at).has_value())
      found.emplace_back(-whole_->order.share(at), metric);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::uint32_t> order;
  for (const auto& [share, metric] : found) order.push_back(metric);
  return order;
}

}  // namespace ctprof
