#include "core/compare/report/rows.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/number.hpp"

namespace ctprof {
namespace {

struct SideKey {
  MapEntry entry;
  std::size_t side;
};

// Returns the keys of all sides, sorted.
std::vector<SideKey> collect_side_keys(const Report& report, RowPosition at) {
  std::vector<SideKey> found;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    report.rollup().visit_map({side, at.group, at.metric}, [&](const MapEntry& entry) {
      found.push_back({entry, side});
    });
  std::stable_sort(found.begin(), found.end(),
                   [](const SideKey& a, const SideKey& b) { return a.entry.key < b.entry.key; });
  return found;
}

bool has_changed(std::span<const KeyFigure> key, const Spec& spec) {
  if (const Difference& change = key.front().change; key.size() == 1)
    return change.is_known() && (spec.metrics.empty() || !change.is_zero())
               ? !change.is_zero()
               : as_double(key.front().number) != 0;
  return std::any_of(key.begin() + 1, key.end(), [](const KeyFigure& figure) {
    return !figure.difference.is_known() || !figure.difference.is_zero();
  });
}

// Keeps the keys that changed most, in their original order. Each key has `sides` figures.
void keep_largest_changes(std::vector<KeyFigure>& keys, std::size_t sides, std::size_t max_keys) {
  std::vector<std::size_t> order(keys.size() / sides);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i * sides;
  const auto key = [&](std::size_t at) {
    return std::span<const KeyFigure>(keys).subspan(at, sides);
  };
  if (sides > 1)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return largest_difference(key(a)) > largest_difference(key(b));
    });
  order.resize(std::min(max_keys, order.size()));
  std::sort(order.begin(), order.end());
  std::vector<KeyFigure> remaining;
  for (const std::size_t at : order)
    remaining.insert(remaining.end(), key(at).begin(), key(at).end());
  keys = std::move(remaining);
}

// Fills one row after the other. The vectors of the row keep their memory.
class MetricRowReader {
 public:
  explicit MetricRowReader(const Report& report) : report_(&report) {}

  // Returns the row of a metric and a group, which is valid until the next call. Without keys.
  const MetricRow& fill(RowPosition at, bool with_evidence) {
    reset_row();
    row_.at = at;
    row_.metric = &report_->metrics()[at.metric];
    row_.group = report_->grouping().name(row_.metric->entity, at.group);
    for (std::size_t side = 0; side < report_->sides().size(); ++side) add_figure(side);
    for (std::size_t side = 1; side < report_->sides().size(); ++side)
      add_change(side, with_evidence);
    row_.is_per_second = report_->rollup().is_per_second(at.metric);
    row_.matches_fail_on = report_->matches_fail_on(at);
    return row_;
  }

  // Does the same, with the keys of a map.
  const MetricRow& fill_with_keys(RowPosition at, bool with_evidence,
                                  std::size_t keys_over_limit = 0) {
    fill(at, with_evidence);
    if (row_.metric->is_map()) row_.keys = find_key_figures(*report_, at);
    for (const KeyFigure& key : row_.keys)
      row_.is_per_second = row_.is_per_second || key.is_per_second;
    if (keys_over_limit > 0)
      keep_largest_changes(row_.keys, row_.sides.size(), row_.key_count() - keys_over_limit);
    row_.keys_are_limited = keys_over_limit > 0;
    return row_;
  }

 private:
  void reset_row() {
    auto sides = std::move(row_.sides);
    auto changes = std::move(row_.changes);
    auto keys = std::move(row_.keys);
    sides.clear();
    changes.clear();
    keys.clear();
    row_ = {};
    row_.sides = std::move(sides);
    row_.changes = std::move(changes);
    row_.keys = std::move(keys);
  }

  bool is_host_metric() const { return row_.metric->entity == Entity::Host; }

  double all_threads(std::size_t side) const {
    std::vector<double> counts;
    for (const RunFacts& run : report_->runs(side))
      counts.push_back(static_cast<double>(run.threads()));
    return median_count(std::move(counts));
  }

  // Returns whether the group is a single process, whose threads are counted in other groups.
  bool is_one_process() const {
    const auto& sides = report_->grouping().sides;
    return row_.metric->entity == Entity::Process &&
           std::all_of(sides.begin(), sides.end(), [&](const SideGroups& side) {
             return side.rows(Entity::Thread, row_.at.group) == 0;
           });
  }

  void add_figure(std::size_t side) {
    const CellPosition at{side, row_.at.group, row_.at.metric};
    SideFigure& figure = row_.sides.emplace_back();
    figure.at = at;
    figure.threads =
        is_host_metric() ? all_threads(side) : report_->grouping().sides[side].threads(at.group);
    figure.coverage = report_->rollup().coverage(at);
    figure.derived_parts = report_->rollup().derived_parts(at);
    figure.busiest = report_->rollup().get_busiest_thread(at);
    figure.change = report_->rollup().change(at);
    figure.opening_state = report_->rollup().opening_state(at);
    figure.runs = report_->rollup().runs_with(at);
    figure.per_second_of_age = report_->per_second_of_age(at);
  }

  void add_change(std::size_t side, bool with_evidence) {
    const auto [group, metric] = row_.at;
    const ThreadTurnover& one_boot = report_->thread_turnover(side);
    SideChange& side_change = row_.changes.emplace_back();
    side_change.change = report_->changes().change(group, metric, side);
    side_change.difference_origin = one_boot.origin(group, metric);
    if (is_host_metric())
      side_change.turnover = one_boot.turnover_of_all();
    else if (!is_one_process())
      side_change.turnover = one_boot.turnover_of_group(group);
    side_change.rate = report_->rates(side).rate(group, metric, side_change.change.difference);
    if (with_evidence && report_->families().can_test() && report_->spec().tests_rows)
      side_change.test_result =
          report_->families().get_details_evidence()->find_result(group, metric, side);
  }

  const Report* report_;
  MetricRow row_;
};

void visit_section(MetricRowReader& reader, const Section& section, const SectionVisitor& visitor) {
  if (visitor.begin_section) visitor.begin_section(section);
  if (!visitor.add_row) return;
  for (const RowPosition& at : section.rows) {
    // The last row may be a map with keys beyond the limit.
    const bool is_last = &at == &section.rows.back();
    visitor.add_row(reader.fill_with_keys(at, true, is_last ? section.keys_over_limit : 0));
  }
}

void visit_one_sided_group(const Report& report, MetricRowReader& reader, std::size_t side,
                           std::uint32_t group, const OneSidedVisitor& visitor) {
  if (visitor.begin_group)
    visitor.begin_group(
        {side, report.grouping().names[group], report.grouping().sides[side].threads(group)});
  if (!visitor.add_figure) return;
  for (const std::uint32_t metric : report.metrics_by_share(side, group))
    visitor.add_figure(side, reader.fill_with_keys({group, metric}, false));
}

}  // namespace

std::vector<KeyFigure> find_key_figures(const Report& report, RowPosition at) {
  const std::size_t sides = report.sides().size();
  const std::string_view unit = report.metrics()[at.metric].unit;
  std::vector<KeyFigure> keys;
  const auto side_keys = collect_side_keys(report, at);
  for (auto it = side_keys.begin(); it != side_keys.end();) {
    const std::string_view key = it->entry.key;
    const std::size_t first = keys.size();
    const std::string_view own_unit = it->entry.unit;
    keys.resize(first + sides, {key,
                                own_unit.empty() ? unit : own_unit,
                                {},
                                {},
                                {},
                                kNaN,
                                kNaN,
                                report.rollup().is_key_per_second(at.metric, key)});
    for (; it != side_keys.end() && it->entry.key == key; ++it) {
      KeyFigure& figure = keys[first + it->side];
      figure.number = it->entry.number;
      figure.change = report.rollup().change({it->side, at.group, at.metric}, key, figure.number);
    }
    for (std::size_t side = 1; side < sides; ++side) {
      KeyFigure& figure = keys[first + side];
      figure.difference = difference(keys[first].number, figure.number);
      figure.pct = fraction_of_baseline(figure.difference, keys[first].number);
      figure.rate = report.rates(side).key_rate(at.group, at.metric, key, figure.difference);
    }
    if (report.spec().only_changed && !has_changed(std::span(keys).subspan(first), report.spec()))
      keys.resize(first);
  }
  return keys;
}

double largest_difference(std::span<const KeyFigure> key) {
  double largest = 0;
  for (const KeyFigure& figure : key.subspan(1))
    largest = std::max(largest, std::fabs(figure.difference.real));
  return largest;
}

void visit_sections(const Report& report, const SectionVisitor& visitor) {
  MetricRowReader reader(report);
  for (const Section& section : report.sections()) visit_section(reader, section, visitor);
}

void visit_fail_on_section(const Report& report, const SectionVisitor& visitor) {
  MetricRowReader reader(report);
  visit_section(reader, report.fail_on_section(), visitor);
}

void visit_one_sided_groups(const Report& report, const OneSidedVisitor& visitor) {
  MetricRowReader reader(report);
  for (std::size_t side = 0; report.is_comparison() && side < report.sides().size(); ++side) {
    if (visitor.begin_side) visitor.begin_side(side);
    for (const std::uint32_t group : report.one_sided_groups(side).groups)
      visit_one_sided_group(report, reader, side, group, visitor);
  }
}

void visit_stacks(const Report& report, const StacksVisitor& visitor) {
  StackSection* section = report.stacks();
  MetricRowReader reader(report);
  for (const RowPosition& at : section ? section->groups() : std::span<const RowPosition>{}) {
    const StackGroup group = section->make_group(at);
    visitor(reader.fill(at, false), group);
  }
}

std::span<const CgroupRename> get_shown_renames(const Report& report) {
  const std::span<const CgroupRename> renames = report.grouping().renames;
  const std::size_t limit = report.spec().limit;
  return limit ? renames.first(std::min(limit, renames.size())) : renames;
}

}  // namespace ctprof
