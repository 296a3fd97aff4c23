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
ChangeState combined_state(std::span<const Change> changes) {
  for (const ChangeState moved :
       {ChangeState::Changed, ChangeState::OneSide, ChangeState::Unchanged})
    if (std::any_of(changes.begin(), changes.end(),
                    [&](const Change& change) { return change.state == moved; }))
      return moved;
  return ChangeState::NoSide;
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

// Returns whether the side has a reading of the metric, or of all inputs of a derived metric, in
// any row, including those that --where excludes.
bool Report::is_measured(std::size_t side, std::size_t metric) const {
  const PlannedMetric& planned = metrics()[metric];
  if (planned.counts_rows) return true;
  if (!planned.expression && !planned.key) return rollup().run(side).absence(metric).has_values;
  return std::ranges::all_of(planned.inputs,
                             [&](const auto& input) { return input && is_measured(side, *input); });
}

// A metric without a value on a side is reported once, not in a row for every group.
void Report::find_absent_metrics() {
  is_absent_.resize(metrics().size());
  for (std::uint32_t metric = 0; metric < metrics().size(); ++metric) {
    if (!metrics()[metric].is_shown) continue;
    AbsentMetric absent{metric, {}, !spec().where.conditions.empty()};
    for (std::size_t side = 0; side < sides().size(); ++side) {
      bool is_present = false;
      const std::size_t groups = grouping().count(metrics()[metric].entity);
      for (std::uint32_t group = 0; group < groups && !is_present; ++group)
        is_present = rollup().read({side, group, metric}).has_value();
      absent.is_absent_on.push_back(!is_present);
      absent.is_only_excluded =
          absent.is_only_excluded && (is_present || is_measured(side, metric));
    }
    if (std::find(absent.is_absent_on.begin(), absent.is_absent_on.end(), true) ==
        absent.is_absent_on.end())
      continue;
    is_absent_[metric] = true;
    if (!is_expected_absence(metrics()[metric])) absent_metrics_.push_back(std::move(absent));
  }
}

std::size_t Report::count_sides_with(std::uint32_t group) const {
  std::size_t count = 0;
  for (std::size_t side = 0; side < sides().size(); ++side)
    count += grouping().has_group(side, group);
  return count;
}

void Report::find_one_sided_groups() {
  std::vector<std::vector<std::pair<double, std::uint32_t>>> found(sides().size());
  for (std::uint32_t group = 0; group < grouping().names.size(); ++group) {
    if (count_sides_with(group) != 1) continue;
    std::size_t side = 0;
    while (!grouping().has_group(side, group)) ++side;
    double largest_share = 0;
    bool has_any = grouping().sides[side].rows(Entity::Thread, group) > 0 ||
                   grouping().sides[side].rows(Entity::Cgroup, group) > 0;
    for (std::uint32_t metric = 0; metric < metrics().size(); ++metric)
      if (metrics()[metric].is_shown && metrics()[metric].entity != Entity::Host) {
        largest_share = std::max(largest_share, data_->order->share({side, group, metric}));
        has_any = has_any || rollup().read({side, group, metric}).has_value();
      }
    if (!has_any) continue;  // a single process without any shown metric
    found[side].emplace_back(-largest_share, group);
  }
  for (std::size_t side = 0; side < sides().size(); ++side) {
    std::sort(found[side].begin(), found[side].end());
    const std::size_t limit = spec().limit ? spec().limit : found[side].size();
    for (const auto& [share, group] : found[side])
      if (one_sided_groups_[side].groups.size() < limit)
        one_sided_groups_[side].groups.push_back(group);
    one_sided_groups_[side].over_limit = found[side].size() - one_sided_groups_[side].groups.size();
  }
}

void Report::fill_fail_on_section() {
  fail_on_section_.name = "failed";
  std::vector<RankedRow> found;
  for (const RowPosition row : data_->fail_on_rows) found.push_back(data_->order->rank_row(row));
  const std::size_t all = found.size();
  fail_on_section_.rows = data_->order->sort_rows(std::move(found), spec().limit);
  fail_on_section_.over_limit = all - fail_on_section_.rows.size();
  limit_lines(fail_on_section_);
}

// The limit counts lines, and a map has one line for each key.
void Report::limit_lines(Section& section) const {
  std::size_t left = spec().limit;
  for (std::size_t at = 0; spec().limit > 0 && at < section.rows.size(); ++at) {
    const RowPosition row = section.rows[at];
    std::size_t lines = 1;
    if (metrics()[row.metric].is_map()) {
      lines = find_key_figures(*this, row).size() / sides().size();
      // In formats for programs, a map without keys is also a line.
      if (!spec().only_changed) lines = std::max<std::size_t>(1, lines);
    }
    if (lines < left || (lines == left && at + 1 == section.rows.size())) {
      left -= lines;
      continue;
    }
    section.keys_over_limit = lines - left;
    section.over_limit += section.rows.size() - (at + 1);
    return section.rows.resize(at + 1);
  }
}

void Report::fill_section(Section& section,
                          std::span<const std::uint32_t> metrics_of_section) const {
  std::vector<RankedRow> ranked_rows;
  for (const std::uint32_t metric : metrics_of_section) {
    const std::size_t groups = grouping().count(metrics()[metric].entity);
    for (std::uint32_t group = 0; group < groups; ++group)
      add_row(section, {group, metric}, ranked_rows);
  }
  const std::size_t found = ranked_rows.size();
  const bool by_evidence = families().can_test() && spec().tests_rows && spec().sort.empty();
  section.rows = data_->order->sort_rows(std::move(ranked_rows), by_evidence ? 0 : spec().limit);
  if (by_evidence) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<int, double>> places;
    for (const RowPosition row : section.rows)
      places.emplace(std::pair(row.group, row.metric), evidence_rank(row));
    std::ranges::stable_sort(section.rows, {}, [&](RowPosition row) {
      return places.at({row.group, row.metric});
    });
    if (spec().limit > 0) section.rows.resize(std::min(spec().limit, section.rows.size()));
  }
  section.over_limit = found - section.rows.size();
  limit_lines(section);
}

std::pair<int, double> Report::evidence_rank(RowPosition row) const {
  constexpr int kSignificant = 0, kTested = 1, kNeverTested = 2;
  std::pair<int, double> place{kNeverTested, 1};
  for (std::size_t side = 1; side < sides().size(); ++side) {
    const auto test_result =
        families().get_details_evidence()->find_result(row.group, row.metric, side);
    if (!test_result) continue;
    const double p = families().has_significant_detail() ? 1 : test_result->unadjusted_p;
    place = std::min(place, std::pair(test_result->is_significant ? kSignificant : kTested, p));
  }
  return place;
}

void Report::add_row(Section& section, RowPosition row, std::vector<RankedRow>& ranked_rows) const {
  if (!is_comparison()) return add_value(section, row, ranked_rows);
  const bool is_host_metric = metrics()[row.metric].entity == Entity::Host;
  if (is_host_metric || count_sides_with(row.group) > 1) add_change(section, row, ranked_rows);
}

void Report::add_change(Section& section, RowPosition row,
                        std::vector<RankedRow>& ranked_rows) const {
  const CellValue baseline = rollup().read({0, row.group, row.metric});
  std::uint64_t rows = baseline.coverage.rows;
  std::vector<Change> changes;
  for (std::size_t side = 1; side < sides().size(); ++side) {
    const CellValue candidate = rollup().read({side, row.group, row.metric});
    rows += candidate.coverage.rows;
    changes.push_back(this->changes().change_between(baseline, candidate, row.metric));
  }
  if (rows == 0) return;  // the metric is not applicable to this group
  if (spec().only_changed) {
    if (is_absent_[row.metric]) return;  // reported separately
    const ChangeState moved = combined_state(changes);
    if (moved == ChangeState::Unchanged) return void(++section.unchanged_rows);
    if (moved == ChangeState::NoSide) return void(++section.rows_without_value);
  }
  ranked_rows.push_back(data_->order->rank_row(row, changes));
}

// Returns whether the row shows a state that did not change in the window, unless the user
// requested metrics.
bool Report::is_unchanged_in_window(RowPosition row) const {
  if (!sides().front().window || !spec().metrics.empty()) return false;
  const std::string& family = metrics()[row.metric].family;
  const Difference change = rollup().change({0, row.group, row.metric});
  return family == "categorical" || family == "limit" || (change.is_known() && change.is_zero());
}

void Report::add_value(Section& section, RowPosition row,
                       std::vector<RankedRow>& ranked_rows) const {
  const CellValue reading = rollup().read({0, row.group, row.metric});
  if (reading.coverage.rows == 0) return;
  if (spec().only_changed) {
    if (is_absent_[row.metric]) return;
    if (!reading.has_value()) return void(++section.rows_without_value);
    if (is_zero(reading.number) || is_unchanged_in_window(row))
      return void(++section.unchanged_rows);
  }
  ranked_rows.push_back(data_->order->rank_row(row));
}

bool Report::matches_fail_on(RowPosition row) const {
  return std::binary_search(data_->fail_on_rows.begin(), data_->fail_on_rows.end(), row,
                            [](RowPosition a, RowPosition b) {
                              return std::pair(a.group, a.metric) < std::pair(b.group, b.metric);
                            });
}

std::vector<std::uint32_t> Report::metrics_by_share(std::size_t side, std::uint32_t group) const {
  std::vector<std::pair<double, std::uint32_t>> found;
  for (std::uint32_t metric = 0; metric < metrics().size(); ++metric) {
    const CellPosition at{side, group, metric};
    const bool counts = metrics()[metric].is_shown && metrics()[metric].entity != Entity::Host;
    if (counts && rollup().read(at).has_value())
      found.emplace_back(-data_->order->share(at), metric);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::uint32_t> order;
  for (const auto& [share, metric] : found) order.push_back(metric);
  return order;
}

}  // namespace ctprof
