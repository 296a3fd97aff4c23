#include "core/compare/report/rows.hpp"

#include <algorithm>

namespace ctprof {
namespace {

class Teller {
 public:
  Teller(const Report& report, const RowVisitor& visit) : report_(&report), visit_(&visit) {}

  void sections() {
    for (const Section& section : report_->sections()) {
      section_opens(section, false);
      for (const RowAt at : section.rows) metric(RowKind::Metric, at);
    }
  }

  void failed() {
    section_opens(report_->failed(), true);
    for (const RowAt at : report_->failed().rows) metric(RowKind::Failed, at);
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
      const auto differences = host_differences(report_->sides()[0], report_->sides()[side]);
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
  // An empty row; what was taken in memory for others stays.
  void start(RowKind kind) {
    auto sides = std::move(row_.sides);
    auto changes = std::move(row_.changes);
    sides.clear();
    changes.clear();
    row_ = {};
    row_.kind = kind;
    row_.sides = std::move(sides);
    row_.changes = std::move(changes);
  }

  void section_opens(const Section& section, bool is_failed) {
    start(RowKind::Section);
    row_.section = &section;
    row_.is_failed = is_failed;
    (*visit_)(row_);
  }

  void metric(RowKind kind, RowAt at, std::size_t only_side = 0) {
    start(kind);
    row_.at = at;
    row_.side = only_side;
    row_.metric = &report_->metrics()[at.metric];
    row_.group = report_->grouping().name(row_.metric->entity, at.group);
    for (std::size_t side = 0; side < report_->sides().size(); ++side) add_figure(side);
    for (std::size_t side = 1; side < report_->sides().size(); ++side) add_change(side);
    row_.fails = report_->compares() && report_->fails(at);
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

  // A group of a process alone, whose threads are counted where they are grouped.
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
    figure.threads = of_host() ? report_->sides()[side].threads()
                               : report_->grouping().sides[side].threads(at.group);
    figure.coverage = report_->rollup().coverage(at);
    figure.made_of = report_->rollup().made_of(at);
    figure.busiest = report_->rollup().busiest(at);
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
  }

  const Report* report_;
  const RowVisitor* visit_;
  ReportRow row_;
};

}  // namespace

void tell(const Report& report, RowKind kind, const RowVisitor& visit) {
  Teller teller(report, visit);
  switch (kind) {
    case RowKind::Section:
    case RowKind::Metric: return teller.sections();
    case RowKind::Failed: return teller.failed();
    case RowKind::OnlyIn:
    case RowKind::Group:
    case RowKind::Figure: return teller.one_sided();
    case RowKind::Renamed: return teller.renames();
    case RowKind::Hosts:
    case RowKind::HostFact: return teller.host_facts();
    case RowKind::Absent: return teller.absent();
    case RowKind::Note: return teller.notes();
  }
}

}  // namespace ctprof
