#include "core/compare/figures/rollup.hpp"

#include <utility>

#include "core/base/number.hpp"
#include "core/compare/figures/rule_states.hpp"

namespace ctprof {
namespace {

void append(void* out, const char* data, std::size_t size) {
  static_cast<std::string*>(out)->append(data, size);
}
ctprof_sink sink_into(std::string& out) { return {sizeof(ctprof_sink), 0, &out, append}; }

void hand_part(void* visit, ctprof_text key, ctprof_number number, ctprof_text unit) {
  (*static_cast<const std::function<void(const Part&)>*>(visit))(
      {{key.data, key.size}, number, {unit.data, unit.size}});
}

}  // namespace

Rollup::Rollup(std::vector<RunFigures> sides, const Grouping& grouping, const MetricPlan& plan)
    : grouping_(&grouping), plan_(&plan), sides_(std::move(sides)) {
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    const SideGroups& groups = grouping.sides[side];
    for (std::uint32_t own = 0; own < groups.group_of.size(); ++own)
      if (const std::uint32_t first = groups.own[groups.group_of[own]]; first != own)
        sides_[side].unite(first, own);
    sides_[side].finish();
  }
}

std::uint32_t Rollup::own(CellAt at) const {
  if (plan_->metrics[at.metric].entity == Entity::Host) return at.group;
  return grouping_->sides[at.side].own[at.group];
}

CellValue Rollup::read(CellAt at) const {
  const std::uint32_t group = own(at);
  return group == kNoGroup ? CellValue{} : sides_[at.side].read(group, at.metric);
}

Coverage Rollup::coverage(CellAt at) const {
  const std::uint32_t group = own(at);
  return group == kNoGroup ? Coverage{} : sides_[at.side].coverage(group, at.metric);
}

MadeOf Rollup::made_of(CellAt at) const {
  const std::uint32_t group = own(at);
  return group == kNoGroup ? MadeOf{} : sides_[at.side].made_of(group, at.metric);
}

const Busiest* Rollup::busiest(CellAt at) const {
  const std::uint32_t group = own(at);
  return group == kNoGroup ? nullptr : sides_[at.side].busiest(group, at.metric);
}

Difference Rollup::change(CellAt at) const {
  const std::uint32_t group = own(at);
  return group == kNoGroup ? Difference{} : sides_[at.side].change(group, at.metric);
}

Difference Rollup::change(CellAt at, std::string_view key, const ctprof_number& now) const {
  const std::uint32_t group = own(at);
  return group == kNoGroup ? Difference{} : sides_[at.side].change(group, at.metric, key, now);
}

Beginning Rollup::beginning(CellAt at) const {
  const std::uint32_t group = own(at);
  return group == kNoGroup ? Beginning::None : sides_[at.side].beginning(group, at.metric);
}

const GroupTimes* Rollup::times(std::size_t side, std::uint32_t group) const {
  const std::uint32_t own = grouping_->sides[side].own[group];
  return own == kNoGroup ? nullptr : &sides_[side].times(own);
}

std::string Rollup::text(CellAt at) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  const CellValue reading = read(at);
  if (!reading.state || !metric.rule->text) return scaled(reading.number, metric.unit);
  std::string out;
  const ctprof_sink sink = sink_into(out);
  call_rule(metric.rule_owner, "text",
            [&] { metric.rule->text(reading.state, metric.unit.c_str(), &sink); });
  return out;
}

void Rollup::append_json(std::string& out, CellAt at) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  const CellValue reading = read(at);
  if (!reading.state || !metric.rule->json) return ctprof::append_json(out, reading.number);
  const ctprof_sink sink = sink_into(out);
  call_rule(metric.rule_owner, "json", [&] { metric.rule->json(reading.state, &sink); });
}

void Rollup::append_extras(std::string& out, CellAt at) const {
  const ctprof_rule* rule = plan_->metrics[at.metric].rule;
  const CellValue reading = read(at);
  if (!rule || !rule->extras || !reading.state) return void(out += "null");
  const ctprof_sink sink = sink_into(out);
  out += '{';
  call_rule(plan_->metrics[at.metric].rule_owner, "extras",
            [&] { rule->extras(reading.state, &sink); });
  out += '}';
}

void Rollup::parts(CellAt at, const std::function<void(const Part&)>& visit) const {
  const void* of_group = plan_->metrics[at.metric].is_map() ? read(at).state : nullptr;
  if (!of_group) return;
  const ctprof_parts out{sizeof(ctprof_parts), 0,
                         const_cast<std::function<void(const Part&)>*>(&visit), hand_part};
  const PlannedMetric& metric = plan_->metrics[at.metric];
  call_rule(metric.rule_owner, "parts", [&] { metric.rule->parts(of_group, &out); });
}

}  // namespace ctprof
