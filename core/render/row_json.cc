#include "core/render/row_json.hpp"

#include <cmath>
#include <string>

#include "core/compare/request/spec.hpp"
#include "core/registry/map_labels.hpp"

namespace ctprof {
namespace {

// Returns "delta" for the first candidate, "delta_2" for the second.
std::string make_candidate_key(std::string_view name, std::size_t side) {
  return side == 1 ? std::string(name) : std::string(name) + "_" + std::to_string(side);
}

void write_key(JsonBuilder& json, const MetricRow& row) {
  json.text_member("section", row.metric->section);
  write_group(json, row.group);
  json.text_member("metric", row.metric->name);
  json.text_member("unit", get_output_unit(row.metric->unit));
  json.key("per_second");
  json.raw(row.is_per_second ? "true" : "false");
}

void write_coverage(JsonBuilder& json, std::string_view name, Coverage coverage) {
  json.key(name);
  json.open('{');
  json.number_member("values", coverage.values);
  json.number_member("rows", coverage.rows);
  json.close('}');
}

// Writes how many parts a value has and which are missing; null if it has no optional parts.
void write_parts(JsonBuilder& json, std::string_view name, const MetricRow& row,
                 const DerivedParts& made_of) {
  json.key(name);
  if (!made_of.has_parts()) return json.raw("null");
  json.open('{');
  json.number_member("present", made_of.count_present());
  json.number_member("of", made_of.count_possible());
  json.key("missing");
  json.open('[');
  for (std::size_t i = 0; i < made_of.inputs.size(); ++i) {
    if (made_of.inputs[i] != InputState::Missing) continue;
    json.comma();
    json.text(row.metric->expression->inputs()[i].name);
  }
  json.close(']');
  json.close('}');
}

// Writes the members that accompany a value: the busiest thread, and additional results of the
// rule.
void write_extras(JsonBuilder& json, const Report& report, const std::string& side,
                  const SideFigure& figure) {
  json.key("busiest" + side);
  if (figure.busiest) {
    json.open('{');
    json.number_member("tid", figure.busiest->tid);
    json.text_member("comm", figure.busiest->comm);
    json.close('}');
  } else {
    json.raw("null");
  }
  json.key("extras" + side);
  report.rollup().append_extras(json.out(), figure.at);
}

bool is_known(const ctprof_number& number) { return has_value(number); }
bool is_known(const Difference& difference) { return difference.is_known(); }
bool is_known(double number) { return !std::isnan(number); }

// Writes an object of the map's keys that have this figure on the side.
template <class Figure>
void write_keys(JsonBuilder& json, const MetricRow& row, std::size_t side,
                Figure KeyFigure::*figure) {
  json.open('{');
  for (std::size_t at = 0; at < row.key_count(); ++at) {
    const KeyFigure& key = row.key(at)[side];
    if (!is_known(key.*figure)) continue;
    json.key(key.key);
    json.number(key.*figure);
  }
  json.close('}');
}

template <class Figure>
bool has_any_value(const MetricRow& row, std::size_t side, Figure KeyFigure::*figure) {
  for (std::size_t at = 0; at < row.key_count(); ++at)
    if (is_known(row.key(at)[side].*figure)) return true;
  return false;
}

// Writes the figure by key if any key has it, otherwise the figure of the whole.
template <class Figure>
void write_keys_or_total(JsonBuilder& json, const MetricRow& row, std::size_t side,
                         Figure KeyFigure::*figure, const Figure& total) {
  if (has_any_value(row, side, figure))
    write_keys(json, row, side, figure);
  else
    json.number(total);
}

// Writes the JSON of the rule, or the keys of a map within the limit.
void write_value(JsonBuilder& json, const Report& report, std::string_view name,
                 const MetricRow& row, std::size_t side) {
  const CellPosition at = row.sides[side].at;
  json.key(name);
  if (row.keys_are_limited && report.rollup().read(at).has_value())
    write_keys(json, row, side, &KeyFigure::number);
  else
    report.rollup().append_json(json.out(), at);
}

// Writes which parts of the delta are due to living, started and exited threads.
void write_origin(JsonBuilder& json, const std::optional<DifferenceOrigin>& origin,
                  std::size_t side) {
  const auto member = [&](std::string_view name, Difference DifferenceOrigin::*part) {
    json.key(make_candidate_key(name, side));
    json.number(origin ? (*origin).*part : Difference{});
  };
  member("delta_alive", &DifferenceOrigin::staying);
  member("delta_new", &DifferenceOrigin::added);
  member("delta_gone", &DifferenceOrigin::removed);
}

void write_delta(JsonBuilder& json, const MetricRow& row, std::size_t side, bool with_rate) {
  const SideChange& side_change = row.changes[side - 1];
  const Change& change = side_change.change;
  const bool is_on_both_sides =
      change.state != ChangeState::NoSide && change.state != ChangeState::OneSide;
  json.key(make_candidate_key("delta", side));
  if (row.metric->is_map() && is_on_both_sides)
    write_keys(json, row, side, &KeyFigure::difference);
  else if (!change.difference.is_known() && !change.rule_text.empty())
    json.text(change.rule_text);
  else
    json.number(change.difference);
  json.key(make_candidate_key("pct", side));
  json.number(change.pct);
  write_test_result(json, side_change.test_result, side);
  write_origin(json, side_change.difference_origin, side);
  if (!with_rate) return;
  json.key(make_candidate_key("rate", side));
  write_keys_or_total(json, row, side, &KeyFigure::rate, side_change.rate);
}

void write_turnover(JsonBuilder& json, const std::optional<Turnover>& turnover, std::size_t side) {
  const auto member = [&](std::string_view name, std::uint64_t Turnover::*count) {
    json.key(make_candidate_key(name, side));
    json.number(turnover ? make_number((*turnover).*count) : no_number());
  };
  member("threads_alive", &Turnover::staying);
  member("threads_new", &Turnover::added);
  member("threads_gone", &Turnover::removed);
}

void write_single_value(JsonBuilder& json, const Report& report, const MetricRow& row) {
  const SideFigure& figure = row.sides.front();
  write_value(json, report, "value", row, 0);
  if (report.sides().front().window) {
    json.key("change");
    write_keys_or_total(json, row, 0, &KeyFigure::change, figure.change);
  }
  json.number_member("runs", figure.runs);
  json.count_member("threads", figure.threads);
  write_coverage(json, "coverage", figure.coverage);
  write_parts(json, "parts", row, figure.derived_parts);
  write_extras(json, report, "", figure);
}

void write_changes(JsonBuilder& json, const Report& report, const MetricRow& row) {
  const std::size_t sides = row.sides.size();
  for (std::size_t side = 0; side < sides; ++side)
    write_value(json, report, side_name(side), row, side);
  for (std::size_t side = 1; side < sides; ++side) write_delta(json, row, side, report.spec().rate);
  for (std::size_t side = 0; side < sides; ++side) {
    json.key("per_life_" + side_name(side));
    json.number(row.sides[side].per_second_of_age);
  }
  for (std::size_t side = 0; side < sides; ++side)
    json.number_member("runs_" + side_name(side), row.sides[side].runs);
  for (std::size_t side = 0; side < sides; ++side)
    json.count_member("threads_" + side_name(side), row.sides[side].threads);
  for (std::size_t side = 0; side < sides; ++side)
    write_coverage(json, "coverage_" + side_name(side), row.sides[side].coverage);
  for (std::size_t side = 0; side < sides; ++side)
    write_parts(json, "parts_" + side_name(side), row, row.sides[side].derived_parts);
  for (std::size_t side = 1; side < sides; ++side)
    write_turnover(json, row.changes[side - 1].turnover, side);
  for (std::size_t side = 0; side < sides; ++side)
    write_extras(json, report, "_" + side_name(side), row.sides[side]);
}

void write_kinds(JsonBuilder& json, std::string_view name, const std::vector<ThreadKind>& kinds) {
  json.key(name);
  json.open('[');
  for (const ThreadKind& kind : kinds) {
    json.open_item();
    json.text_member("pcomm", kind.pcomm);
    json.text_member("comm", kind.comm);
    json.close('}');
  }
  json.close(']');
}

}  // namespace

void write_test_result(JsonBuilder& json, const std::optional<RowTestResult>& test_result,
                       std::size_t side) {
  const auto member = [&](std::string_view name, double RowTestResult::*figure) {
    json.key(make_candidate_key(name, side));
    json.number(test_result ? (*test_result).*figure : std::nan(""));
  };
  member("shift", &RowTestResult::shift);
  member("low", &RowTestResult::low);
  member("high", &RowTestResult::high);
  member("p", &RowTestResult::p);
  json.key(make_candidate_key("proven", side));
  json.raw(!test_result ? "null" : test_result->is_significant ? "true" : "false");
}

std::string_view get_output_unit(std::string_view unit) {
  return unit == "centipercent" ? "percent" : unit;
}

void write_group(JsonBuilder& json, std::string_view group) {
  const auto parts = key_parts(group);
  if (parts.size() == 1) return json.text_member("group", group);
  json.key("group");
  json.open('[');
  for (const std::string_view part : parts) {
    json.comma();
    json.text(part);
  }
  json.close(']');
}

namespace {

// Writes the values of the labels in each key of a map, if its metric has labels.
void write_labels(JsonBuilder& json, const MetricRow& row) {
  const auto names = label_names(row.metric->labels);
  if (names.empty()) return;
  json.key("labels");
  json.open('{');
  for (std::size_t at = 0; at < row.key_count(); ++at) {
    const std::string_view key = row.key(at).front().key;
    const auto values = label_values(row.metric->labels, key);
    json.key(key);
    json.open('{');
    for (std::size_t i = 0; i < names.size(); ++i) json.text_member(names[i], values[i]);
    json.close('}');
  }
  json.close('}');
}

}  // namespace

void write_metric_row(JsonBuilder& json, const Report& report, const MetricRow& row) {
  json.open_item();
  write_key(json, row);
  write_labels(json, row);
  report.is_comparison() ? write_changes(json, report, row) : write_single_value(json, report, row);
  json.close('}');
}

void write_figure(JsonBuilder& json, const Report& report, std::size_t side, const MetricRow& row) {
  json.open_item();
  json.text_member("section", row.metric->section);
  json.text_member("metric", row.metric->name);
  json.text_member("unit", get_output_unit(row.metric->unit));
  json.key("per_second");
  json.raw(row.is_per_second ? "true" : "false");
  write_value(json, report, "value", row, side);
  write_coverage(json, "coverage", row.sides[side].coverage);
  write_parts(json, "parts", row, row.sides[side].derived_parts);
  json.close('}');
}

void write_rename(JsonBuilder& json, const CgroupRename& rename) {
  json.open_item();
  json.text_member("baseline", rename.baseline);
  json.text_member("candidate", rename.candidate);
  json.text_member("baseline_root", rename.baseline_root);
  json.text_member("candidate_root", rename.candidate_root);
  json.number_member("kinds_in_common", rename.kinds_in_common);
  json.number_member("kinds_in_all", rename.kinds_in_either);
  write_kinds(json, "only_baseline", rename.only_baseline);
  write_kinds(json, "only_candidate", rename.only_candidate);
  json.key("below");
  json.open('[');
  for (const auto& [before, after] : rename.child_renames) {
    json.open_item();
    json.text_member("baseline", before);
    json.text_member("candidate", after);
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

}  // namespace ctprof
