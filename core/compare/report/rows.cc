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

class RowStream {
 public:
  RowStream(const Report& report, const RowVisitor& visit) : report_(&report), visit_(&visit) {}

  void visit_sections() {
    for (const Section& section : report_->sections()) {
      visit_section_start(section, false);
      visit_metrics(RowKind::Metric, section);
    }
  }

  void visit_failed() {
    visit_section_start(report_->failed_section(), true);
    visit_metrics(RowKind::FailedMetric, report_->failed_section());
  }

  void visit_one_sided_groups() {
    for (std::size_t side = 0; report_->is_comparison() && side < report_->sides().size(); ++side) {
      reset_row(RowKind::OneSidedHeader);
      row_.side = side;
      row_.one_sided_groups = &report_->one_sided_groups(side);
      (*visit_)(row_);
      for (const std::uint32_t group : row_.one_sided_groups->groups)
        visit_one_sided_group(side, group);
    }
  }

  void visit_stacks() {
    StackSection* section = report_->stacks();
    for (const RowPosition& at : section ? section->groups() : std::span<const RowPosition>{}) {
      const StackGroup group = section->make_group(at);
      fill_metric_row(RowKind::Stacks, at);
      row_.stacks = &group;
      (*visit_)(row_);
      row_.kind = RowKind::Function;
      for (const FunctionRow& row : group.functions) row_.function = &row, (*visit_)(row_);
      row_.kind = RowKind::Stack;
      for (const StackRow& row : group.stacks) row_.stack = &row, (*visit_)(row_);
    }
  }

  void visit_renames() {
    const auto& renames = report_->grouping().renames;
    const std::size_t limit = report_->spec().limit;
    for (std::size_t i = 0; i < (limit ? std::min(limit, renames.size()) : renames.size()); ++i) {
      reset_row(RowKind::RenamedCgroup);
      row_.rename = &renames[i];
      (*visit_)(row_);
    }
  }

  void visit_host_facts() {
    for (std::size_t side = 1; side < report_->sides().size(); ++side) {
      const auto differences = host_differences(report_->runs(0), report_->runs(side));
      reset_row(RowKind::HostsHeader);
      row_.side = side;
      row_.are_hosts_known = differences.has_value();
      (*visit_)(row_);
      row_.kind = RowKind::HostFact;
      for (std::size_t i = 0; differences && i < differences->size(); ++i) {
        row_.difference = &(*differences)[i];
        (*visit_)(row_);
      }
    }
  }

  void visit_absent_metrics() {
    for (const AbsentMetric& one : report_->absent_metrics()) {
      reset_row(RowKind::AbsentMetric);
      row_.absent_metric = &one;
      row_.metric = &report_->metrics()[one.metric];
      (*visit_)(row_);
    }
  }

  void visit_notes() {
    for (const std::string& note : report_->notes()) {
      reset_row(RowKind::Note);
      row_.text = note;
      (*visit_)(row_);
    }
  }

 private:
  // Clears the row; its vectors keep their memory.
  void reset_row(RowKind kind) {
    auto sides = std::move(row_.sides);
    auto changes = std::move(row_.changes);
    auto keys = std::move(row_.keys);
    sides.clear();
    changes.clear();
    keys.clear();
    row_ = {};
    row_.kind = kind;
    row_.sides = std::move(sides);
    row_.changes = std::move(changes);
    row_.keys = std::move(keys);
  }

  void visit_section_start(const Section& section, bool is_failed) {
    reset_row(RowKind::Section);
    row_.section = &section;
    row_.is_failed = is_failed;
    (*visit_)(row_);
  }

  // The last row may be a map with keys beyond the limit.
  void visit_metrics(RowKind kind, const Section& section) {
    for (const RowPosition& at : section.rows)
      visit_metric(kind, at, 0, &at == &section.rows.back() ? section.keys_over_limit : 0);
  }

  // Fills the members that every row with a metric has.
  void fill_metric_row(RowKind kind, RowPosition at) {
    reset_row(kind);
    row_.at = at;
    row_.metric = &report_->metrics()[at.metric];
    row_.group = report_->grouping().name(row_.metric->entity, at.group);
    for (std::size_t side = 0; side < report_->sides().size(); ++side) add_figure(side);
    for (std::size_t side = 1; side < report_->sides().size(); ++side) add_change(side);
    row_.is_per_second = report_->rollup().is_per_second(at.metric);
    row_.matches_fail_on = report_->matches_fail_on(at);
  }

  void visit_metric(RowKind kind, RowPosition at, std::size_t only_side = 0,
                    std::size_t keys_over_limit = 0) {
    fill_metric_row(kind, at);
    row_.side = only_side;
    if (row_.metric->is_map()) row_.keys = find_key_figures(*report_, at);
    for (const KeyFigure& key : row_.keys)
      row_.is_per_second = row_.is_per_second || key.is_per_second;
    if (keys_over_limit > 0)
      keep_largest_changes(row_.keys, row_.sides.size(), row_.key_count() - keys_over_limit);
    row_.keys_are_limited = keys_over_limit > 0;
    (*visit_)(row_);
  }

  void visit_one_sided_group(std::size_t side, std::uint32_t group) {
    reset_row(RowKind::Group);
    row_.side = side;
    row_.group = report_->grouping().names[group];
    row_.sides.push_back({});
    row_.sides.back().threads = report_->grouping().sides[side].threads(group);
    (*visit_)(row_);
    for (const std::uint32_t one : report_->metrics_by_share(side, group))
      visit_metric(RowKind::Figure, {group, one}, side);
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

  void add_change(std::size_t side) {
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
    if (const bool has_evidence =
            row_.kind == RowKind::Metric || row_.kind == RowKind::FailedMetric;
        has_evidence && report_->families().can_test() && report_->spec().tests_rows)
      side_change.test_result =
          report_->families().get_details_evidence()->find_result(group, metric, side);
  }

  const Report* report_;
  const RowVisitor* visit_;
  ReportRow row_;
};

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

void visit_rows(const Report& report, RowKind kind, const RowVisitor& visit) {
  RowStream stream(report, visit);
  switch (kind) {
    case RowKind::Section:
    case RowKind::Metric: return stream.visit_sections();
    case RowKind::FailedMetric: return stream.visit_failed();
    case RowKind::OneSidedHeader:
    case RowKind::Group:
    case RowKind::Figure: return stream.visit_one_sided_groups();
    case RowKind::Stacks:
    case RowKind::Function:
    case RowKind::Stack: return stream.visit_stacks();
    case RowKind::RenamedCgroup: return stream.visit_renames();
    case RowKind::HostsHeader:
    case RowKind::HostFact: return stream.visit_host_facts();
    case RowKind::AbsentMetric: return stream.visit_absent_metrics();
    case RowKind::Note: return stream.visit_notes();
  }
}

}  // namespace ctprof
