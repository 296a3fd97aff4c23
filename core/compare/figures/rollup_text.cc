// Formats the values of a rollup as text and as JSON.

#include <string>
#include <string_view>

#include "core/base/number.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/figures/rule_states.hpp"
#include "core/registry/map_labels.hpp"

namespace ctprof {

std::string Rollup::text(CellPosition at) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  const CellValue reading = read(at);
  const bool has_labels = metric.is_map() && !metric.labels.empty();
  if (has_labels || (metric.is_map() && !needs_no_reduction(at))) return text_of_map(at);
  if (!reading.state || !metric.rule->text) {
    const std::string text = format_scaled(reading.number, metric.unit);
    return is_per_second(at.metric) && has_value(reading.number) ? text + "/s" : text;
  }
  std::string out;
  const ctprof_sink sink = make_text_sink(out);
  call_rule(metric.rule_owner, "text",
            [&] { metric.rule->text(reading.state, metric.unit.c_str(), &sink); });
  return out;
}

std::string Rollup::text_of_map(CellPosition at) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  std::string text;
  visit_map(at, [&](const MapEntry& part) {
    const std::string_view unit = part.unit.empty() ? metric.unit : part.unit;
    text += (text.empty() ? "" : ", ") + format_labelled_key(metric.labels, part.key) + " " +
            format_scaled(part.number, unit) + (is_key_per_second(at.metric, part.key) ? "/s" : "");
  });
  return text.empty() ? "-" : text;
}

void Rollup::append_json(std::string& out, CellPosition at) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  const CellValue reading = read(at);
  if (!reading.state || !metric.rule->json) return ctprof::append_json(out, reading.number);
  if (metric.is_map() && !needs_no_reduction(at)) return append_json_of_map(out, at);
  const ctprof_sink sink = make_text_sink(out);
  call_rule(metric.rule_owner, "json", [&] { metric.rule->json(reading.state, &sink); });
}

void Rollup::append_json_of_map(std::string& out, CellPosition at) const {
  out += '{';
  for (const auto& [key, part] : parts_over_runs(at)) {
    if (out.back() != '{') out += ',';
    ctprof::append_json(out, key);
    out += ':';
    ctprof::append_json(out, part.number);
  }
  out += '}';
}

void Rollup::append_extras(std::string& out, CellPosition at) const {
  const ctprof_rule* rule = plan_->metrics[at.metric].rule;
  const CellValue reading = read(at);
  if (!rule || !rule->extras || !reading.state) return void(out += "null");
  const ctprof_sink sink = make_text_sink(out);
  out += '{';
  call_rule(plan_->metrics[at.metric].rule_owner, "extras",
            [&] { rule->extras(reading.state, &sink); });
  out += '}';
}

}  // namespace ctprof
