// Selects the content of a report: rows of sections, groups that exist on only one side, and
// metrics without a value on a side.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/compare/report/report.hpp"
#include "core/compare/report/rows.hpp"

namespace ctprof {
namespace {

bool is_zero(const ctprof_number& number) { return has_value(number) && as_double(number) == 0; }

// Returns the strongest state: a row with several changes moved if any of them moved.
Moved moved_in_all(std::span<const Change> changes) {
  for (const Moved moved : {Moved::Yes, Moved::OneSide, Moved::No})
    if (std::any_of(changes.begin(), changes.end(),
                    [&](const Change& change) { return change.moved == moved; }))
      return moved;
  return Moved::Nowhere;
}

}  // namespace

// Returns whether the metric's absence is expected and not reported: a derived metric that was not
// requested by name, and has an input without a column on any side because the input's plugin was
// not used.
bool Report::is_expected_absence(const PlannedMetric& metric) const {
  const auto& named = spec().metrics;
  const bool is_named = std::find(named.begin(), named.end(), metric.name) != named.end();
  return !is_named &&
         std::find(metric.inputs.begin(), metric.inputs.end(), std::nullopt) != metric.inputs.end();
}

// A metric without a value on a side is reported once, not in a row for every group.
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
    if (!has_any) continue;  // a single process without any shown metric
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

// The limit counts lines, and a map has one line for each key.
void Report::cut_lines(Section& section) const {
  std::size_t left = spec().limit;
  for (std::size_t at = 0; spec().limit > 0 && at < section.rows.size(); ++at) {
    const RowAt row = section.rows[at];
    std::size_t lines = 1;
    if (metrics()[row.metric].is_map()) {
      lines = key_figures(*this, row).size() / sides().size();
      // In formats for programs, a map without keys is also a line.
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
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<int, double>> places;
    for (const RowAt row : section.rows)
      places.emplace(std::pair(row.group, row.metric), place_by_evidence(row));
    std::ranges::stable_sort(section.rows, {}, [&](RowAt row) {
      return places.at({row.group, row.metric});
    });
    if (spec().limit > 0) section.rows.resize(std::min(spec().limit, section.rows.size()));
  }
  section.cut = found - section.rows.size();
  cut_lines(section);
}

std::pair<int, double> Report::place_by_evidence(RowAt row) const {
  constexpr int kProven = 0, kTested = 1, kNeverTested = 2;
  std::pair<int, double> place{kNeverTested, 1};
  for (std::size_t side = 1; side < sides().size(); ++side) {
    const auto proof = families().details()->of(row.group, row.metric, side);
    if (!proof) continue;
    const double p = families().any_detail_proven() ? 1 : proof->p_alone;
    place = std::min(place, std::pair(proof->proven ? kProven : kTested, p));
  }
  return place;
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
  if (rows == 0) return;  // the metric is not applicable to this group
  if (spec().moved_only) {
    if (is_absent_[row.metric]) return;  // reported separately
    const Moved moved = moved_in_all(changes);
    if (moved == Moved::No) return void(++section.still);
    if (moved == Moved::Nowhere) return void(++section.missing);
  }
  taken.push_back(whole_->order->ranked(row, changes));
}

// Returns whether the row shows a state that did not change in the window, unless the user
// requested metrics.
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

}  // namespace ctprof
