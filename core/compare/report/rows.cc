#include "core/compare/report/rows.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/number.hpp"

namespace ctprof {
namespace {

struct KeyOfSide {
  Part part;
  std::size_t side;
};

// Returns the keys of all sides, sorted.
std::vector<KeyOfSide> keys_of_sides(const Report& report, RowAt at) {
  std::vector<KeyOfSide> found;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    report.rollup().parts({side, at.group, at.metric}, [&](const Part& part) {
      found.push_back({part, side});
    });
  std::stable_sort(found.begin(), found.end(),
                   [](const KeyOfSide& a, const KeyOfSide& b) { return a.part.key < b.part.key; });
  return found;
}

bool moved(std::span<const KeyFigure> key, const Spec& spec) {
  if (const Difference& change = key.front().change; key.size() == 1)
    return change.known() && (spec.metrics.empty() || !change.zero())
               ? !change.zero()
               : as_double(key.front().number) != 0;
  return std::any_of(key.begin() + 1, key.end(), [](const KeyFigure& figure) {
    return !figure.difference.known() || !figure.difference.zero();
  });
}

// Keeps the keys that changed most, in their original order. Each key has `sides` figures.
void keep_furthest(std::vector<KeyFigure>& keys, std::size_t sides, std::size_t kept) {
  std::vector<std::size_t> order(keys.size() / sides);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i * sides;
  const auto key = [&](std::size_t at) {
    return std::span<const KeyFigure>(keys).subspan(at, sides);
  };
  if (sides > 1)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return movement(key(a)) > movement(key(b));
    });
  order.resize(std::min(kept, order.size()));
  std::sort(order.begin(), order.end());
  std::vector<KeyFigure> left;
  for (const std::size_t at : order) left.insert(left.end(), key(at).begin(), key(at).end());
  keys = std::move(left);
}

class Teller {
 public:
  Teller(const Report& report, const RowVisitor& visit) : report_(&report), visit_(&visit) {}

  void sections() {
    for (const Section& section : report_->sections()) {
      section_opens(section, false);
      metrics(RowKind::Metric, section);
    }
  }

  void failed() {
    section_opens(report_->failed(), true);
    metrics(RowKind::Failed, report_->failed());
  }

  void one_sided() {
    for (std::size_t side = 0; report_->compares() && side < report_->sides().size(); ++side) {
      start(RowKind::OnlyIn);
      row_.side = side;
      row_.only = &report_->only(side);
      (*visit_)(row_);
      for (const std::uint32_t group : row_.only->groups) only_group(side, group);
    }
  }

  void stacks() {
    StackSection* section = report_->stacks();
    for (const RowAt& at : section ? section->groups() : std::span<const RowAt>{}) {
      const StackGroup group = section->of(at);
      fill(RowKind::Stacks, at);
      row_.stacks = &group;
      (*visit_)(row_);
      row_.kind = RowKind::Function;
      for (const FunctionRow& row : group.functions) row_.function = &row, (*visit_)(row_);
      row_.kind = RowKind::Stack;
      for (const StackRow& row : group.stacks) row_.stack = &row, (*visit_)(row_);
    }
  }

  void renames() {
    const auto& renames = report_->grouping().renames;
    const std::size_t limit = report_->spec().limit;
    for (std::size_t i = 0; i < (limit ? std::min(limit, renames.size()) : renames.size()); ++i) {
      start(RowKind::Renamed);
      row_.rename = &renames[i];
      (*visit_)(row_);
    }
  }

  void host_facts() {
    for (std::size_t side = 1; side < report_->sides().size(); ++side) {
      const auto differences = host_differences(report_->runs(0), report_->runs(side));
      start(RowKind::Hosts);
      row_.side = side;
      row_.is_known = differences.has_value();
      (*visit_)(row_);
      row_.kind = RowKind::HostFact;
      for (std::size_t i = 0; differences && i < differences->size(); ++i) {
        row_.difference = &(*differences)[i];
        (*visit_)(row_);
      }
    }
  }

  void absent() {
    for (const Absent& one : report_->absent()) {
      start(RowKind::Absent);
      row_.absent = &one;
      row_.metric = &report_->metrics()[one.metric];
      (*visit_)(row_);
    }
  }

  void notes() {
    for (const std::string& note : report_->notes()) {
      start(RowKind::Note);
      row_.text = note;
      (*visit_)(row_);
    }
  }

 private:
  // Clears the row; its vectors keep their memory.
  void start(RowKind kind) {
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

  void section_opens(const Section& section, bool is_failed) {
    start(RowKind::Section);
    row_.section = &section;
    row_.is_failed = is_failed;
    (*visit_)(row_);
  }

  // The last row may be a map with keys beyond the limit.
  void metrics(RowKind kind, const Section& section) {
    for (const RowAt& at : section.rows)
      metric(kind, at, 0, &at == &section.rows.back() ? section.cut_keys : 0);
  }

  // Fills the members that every row with a metric has.
  void fill(RowKind kind, RowAt at) {
    start(kind);
    row_.at = at;
    row_.metric = &report_->metrics()[at.metric];
    row_.group = report_->grouping().name(row_.metric->entity, at.group);
    for (std::size_t side = 0; side < report_->sides().size(); ++side) add_figure(side);
    for (std::size_t side = 1; side < report_->sides().size(); ++side) add_change(side);
    row_.per_second = report_->rollup().per_second(at.metric);
    row_.fails = report_->fails(at);
  }

  void metric(RowKind kind, RowAt at, std::size_t only_side = 0, std::size_t cut_keys = 0) {
    fill(kind, at);
    row_.side = only_side;
    if (row_.metric->is_map()) row_.keys = key_figures(*report_, at);
    for (const KeyFigure& key : row_.keys) row_.per_second = row_.per_second || key.per_second;
    if (cut_keys > 0) keep_furthest(row_.keys, row_.sides.size(), row_.key_count() - cut_keys);
    row_.keys_are_cut = cut_keys > 0;
    (*visit_)(row_);
  }

  void only_group(std::size_t side, std::uint32_t group) {
    start(RowKind::Group);
    row_.side = side;
    row_.group = report_->grouping().names[group];
    row_.sides.push_back({});
    row_.sides.back().threads = report_->grouping().sides[side].threads(group);
    (*visit_)(row_);
    for (const std::uint32_t one : report_->weightiest(side, group))
      metric(RowKind::Figure, {group, one}, side);
  }

  bool of_host() const { return row_.metric->entity == Entity::Host; }

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
    const CellAt at{side, row_.at.group, row_.at.metric};
    SideFigure& figure = row_.sides.emplace_back();
    figure.at = at;
    figure.threads =
        of_host() ? all_threads(side) : report_->grouping().sides[side].threads(at.group);
    figure.coverage = report_->rollup().coverage(at);
    figure.made_of = report_->rollup().made_of(at);
    figure.busiest = report_->rollup().busiest(at);
    figure.change = report_->rollup().change(at);
    figure.beginning = report_->rollup().beginning(at);
    figure.runs = report_->rollup().runs_with(at);
    figure.per_life = report_->per_life(at);
  }

  void add_change(std::size_t side) {
    const auto [group, metric] = row_.at;
    const OneBoot& one_boot = report_->one_boot(side);
    SideChange& told = row_.changes.emplace_back();
    told.change = report_->changes().of(group, metric, side);
    told.origin = one_boot.origin(group, metric);
    if (of_host())
      told.turnover = one_boot.in_all();
    else if (!is_one_process())
      told.turnover = one_boot.in_group(group);
    told.rate = report_->rates(side).of(group, metric, told.change.difference);
    if (const bool is_told = row_.kind == RowKind::Metric || row_.kind == RowKind::Failed;
        is_told && report_->families().judge() && report_->spec().judge_rows)
      told.proof = report_->families().details()->of(group, metric, side);
  }

  const Report* report_;
  const RowVisitor* visit_;
  ReportRow row_;
};

}  // namespace

std::vector<KeyFigure> key_figures(const Report& report, RowAt at) {
  const std::size_t sides = report.sides().size();
  const std::string_view unit = report.metrics()[at.metric].unit;
  std::vector<KeyFigure> keys;
  const auto of_sides = keys_of_sides(report, at);
  for (auto it = of_sides.begin(); it != of_sides.end();) {
    const std::string_view key = it->part.key;
    const std::size_t first = keys.size();
    const std::string_view own_unit = it->part.unit;
    keys.resize(first + sides, {key,
                                own_unit.empty() ? unit : own_unit,
                                {},
                                {},
                                {},
                                kNaN,
                                kNaN,
                                report.rollup().key_per_second(at.metric, key)});
    for (; it != of_sides.end() && it->part.key == key; ++it) {
      KeyFigure& figure = keys[first + it->side];
      figure.number = it->part.number;
      figure.change = report.rollup().change({it->side, at.group, at.metric}, key, figure.number);
    }
    for (std::size_t side = 1; side < sides; ++side) {
      KeyFigure& figure = keys[first + side];
      figure.difference = difference(keys[first].number, figure.number);
      figure.pct = percent_of(figure.difference, keys[first].number);
      figure.rate = report.rates(side).of_key(at.group, at.metric, key, figure.difference);
    }
    if (report.spec().moved_only && !moved(std::span(keys).subspan(first), report.spec()))
      keys.resize(first);
  }
  return keys;
}

double movement(std::span<const KeyFigure> key) {
  double most = 0;
  for (const KeyFigure& figure : key.subspan(1))
    most = std::max(most, std::fabs(figure.difference.real));
  return most;
}

void tell(const Report& report, RowKind kind, const RowVisitor& visit) {
  Teller teller(report, visit);
  switch (kind) {
    case RowKind::Section:
    case RowKind::Metric: return teller.sections();
    case RowKind::Failed: return teller.failed();
    case RowKind::OnlyIn:
    case RowKind::Group:
    case RowKind::Figure: return teller.one_sided();
    case RowKind::Stacks:
    case RowKind::Function:
    case RowKind::Stack: return teller.stacks();
    case RowKind::Renamed: return teller.renames();
    case RowKind::Hosts:
    case RowKind::HostFact: return teller.host_facts();
    case RowKind::Absent: return teller.absent();
    case RowKind::Note: return teller.notes();
  }
}

}  // namespace ctprof
