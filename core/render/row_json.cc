#include "core/render/row_json.hpp"

#include <cmath>
#include <string>

#include "core/compare/asked/spec.hpp"

namespace ctprof {
namespace {

// Returns "delta" for the first candidate, "delta_2" for the second.
std::string of_candidate(std::string_view name, std::size_t side) {
  return side == 1 ? std::string(name) : std::string(name) + "_" + std::to_string(side);
}

void write_key(JsonPieces& json, const ReportRow& row) {
  json.text_member("section", row.metric->section);
  write_group(json, row.group);
  json.text_member("metric", row.metric->name);
  json.text_member("unit", unit_told(row.metric->unit));
  json.key("per_second");
  json.raw(row.per_second ? "true" : "false");
}

void write_coverage(JsonPieces& json, std::string_view name, Coverage coverage) {
  json.key(name);
  json.open('{');
  json.number_member("values", coverage.values);
  json.number_member("rows", coverage.rows);
  json.close('}');
}

// Writes how many parts a value has and which are missing; null if it has no optional parts.
void write_made_of(JsonPieces& json, std::string_view name, const ReportRow& row,
                   const MadeOf& made_of) {
  json.key(name);
  if (!made_of.has_parts()) return json.raw("null");
  json.open('{');
  json.number_member("present", made_of.present());
  json.number_member("of", made_of.possible());
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

// Writes the members beside a value: the busiest thread, and additional results of the rule.
void write_beside(JsonPieces& json, const Report& report, const std::string& side,
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

bool is_there(const ctprof_number& number) { return has_value(number); }
bool is_there(const Difference& difference) { return difference.known(); }
bool is_there(double number) { return !std::isnan(number); }

// Writes an object of the map's keys that have this figure on the side.
template <class Figure>
void write_keys(JsonPieces& json, const ReportRow& row, std::size_t side,
                Figure KeyFigure::*figure) {
  json.open('{');
  for (std::size_t at = 0; at < row.key_count(); ++at) {
    const KeyFigure& key = row.key(at)[side];
    if (!is_there(key.*figure)) continue;
    json.key(key.key);
    json.number(key.*figure);
  }
  json.close('}');
}

template <class Figure>
bool has_any(const ReportRow& row, std::size_t side, Figure KeyFigure::*figure) {
  for (std::size_t at = 0; at < row.key_count(); ++at)
    if (is_there(row.key(at)[side].*figure)) return true;
  return false;
}

// Writes the figure by key if any key has it, otherwise the figure of the whole.
template <class Figure>
void write_keys_or(JsonPieces& json, const ReportRow& row, std::size_t side,
                   Figure KeyFigure::*figure, const Figure& whole) {
  if (has_any(row, side, figure))
    write_keys(json, row, side, figure);
  else
    json.number(whole);
}

// Writes the JSON of the rule, or the keys of a map within the limit.
void write_value(JsonPieces& json, const Report& report, std::string_view name,
                 const ReportRow& row, std::size_t side) {
  const CellAt at = row.sides[side].at;
  json.key(name);
  if (row.keys_are_cut && report.rollup().read(at).has_value())
    write_keys(json, row, side, &KeyFigure::number);
  else
    report.rollup().append_json(json.out(), at);
}

// Writes which parts of the delta are due to living, started and exited threads.
void write_origin(JsonPieces& json, const std::optional<Origin>& origin, std::size_t side) {
  const auto member = [&](std::string_view name, Difference Origin::*part) {
    json.key(of_candidate(name, side));
    json.number(origin ? (*origin).*part : Difference{});
  };
  member("delta_alive", &Origin::alive);
  member("delta_new", &Origin::fresh);
  member("delta_gone", &Origin::gone);
}

void write_delta(JsonPieces& json, const ReportRow& row, std::size_t side, bool with_rate) {
  const SideChange& told = row.changes[side - 1];
  const Change& change = told.change;
  const bool on_both = change.moved != Moved::Nowhere && change.moved != Moved::OneSide;
  json.key(of_candidate("delta", side));
  if (row.metric->is_map() && on_both)
    write_keys(json, row, side, &KeyFigure::difference);
  else if (!change.difference.known() && !change.word.empty())
    json.text(change.word);
  else
    json.number(change.difference);
  json.key(of_candidate("pct", side));
  json.number(change.pct);
  write_proof(json, told.proof, side);
  write_origin(json, told.origin, side);
  if (!with_rate) return;
  json.key(of_candidate("rate", side));
  write_keys_or(json, row, side, &KeyFigure::rate, told.rate);
}

void write_turnover(JsonPieces& json, const std::optional<Turnover>& turnover, std::size_t side) {
  const auto member = [&](std::string_view name, std::uint64_t Turnover::*count) {
    json.key(of_candidate(name, side));
    json.number(turnover ? number_of((*turnover).*count) : no_number());
  };
  member("threads_alive", &Turnover::alive);
  member("threads_new", &Turnover::fresh);
  member("threads_gone", &Turnover::gone);
}

void write_only_value(JsonPieces& json, const Report& report, const ReportRow& row) {
  const SideFigure& figure = row.sides.front();
  write_value(json, report, "value", row, 0);
  if (report.sides().front().window) {
    json.key("change");
    write_keys_or(json, row, 0, &KeyFigure::change, figure.change);
  }
  json.number_member("runs", figure.runs);
  json.count_member("threads", figure.threads);
  write_coverage(json, "coverage", figure.coverage);
  write_made_of(json, "parts", row, figure.made_of);
  write_beside(json, report, "", figure);
}

void write_changes(JsonPieces& json, const Report& report, const ReportRow& row) {
  const std::size_t sides = row.sides.size();
  for (std::size_t side = 0; side < sides; ++side)
    write_value(json, report, side_name(side), row, side);
  for (std::size_t side = 1; side < sides; ++side) write_delta(json, row, side, report.spec().rate);
  for (std::size_t side = 0; side < sides; ++side) {
    json.key("per_life_" + side_name(side));
    json.number(row.sides[side].per_life);
  }
  for (std::size_t side = 0; side < sides; ++side)
    json.number_member("runs_" + side_name(side), row.sides[side].runs);
  for (std::size_t side = 0; side < sides; ++side)
    json.count_member("threads_" + side_name(side), row.sides[side].threads);
  for (std::size_t side = 0; side < sides; ++side)
    write_coverage(json, "coverage_" + side_name(side), row.sides[side].coverage);
  for (std::size_t side = 0; side < sides; ++side)
    write_made_of(json, "parts_" + side_name(side), row, row.sides[side].made_of);
  for (std::size_t side = 1; side < sides; ++side)
    write_turnover(json, row.changes[side - 1].turnover, side);
  for (std::size_t side = 0; side < sides; ++side)
    write_beside(json, report, "_" + side_name(side), row.sides[side]);
}

void write_kinds(JsonPieces& json, std::string_view name, const std::vector<ThreadKind>& kinds) {
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

void write_proof(JsonPieces& json, const std::optional<Proof>& proof, std::size_t side) {
  const auto member = [&](std::string_view name, double Proof::*figure) {
    json.key(of_candidate(name, side));
    json.number(proof ? (*proof).*figure : std::nan(""));
  };
  member("shift", &Proof::shift);
  member("low", &Proof::low);
  member("high", &Proof::high);
  member("p", &Proof::p);
  json.key(of_candidate("proven", side));
  json.raw(!proof ? "null" : proof->proven ? "true" : "false");
}

std::string_view unit_told(std::string_view unit) {
  return unit == "centipercent" ? "percent" : unit;
}

void write_group(JsonPieces& json, std::string_view group) {
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

void write_metric_row(JsonPieces& json, const Report& report, const ReportRow& row) {
  json.open_item();
  write_key(json, row);
  report.compares() ? write_changes(json, report, row) : write_only_value(json, report, row);
  json.close('}');
}

void write_figure(JsonPieces& json, const Report& report, const ReportRow& row) {
  json.open_item();
  json.text_member("section", row.metric->section);
  json.text_member("metric", row.metric->name);
  json.text_member("unit", unit_told(row.metric->unit));
  json.key("per_second");
  json.raw(row.per_second ? "true" : "false");
  write_value(json, report, "value", row, row.side);
  write_coverage(json, "coverage", row.sides[row.side].coverage);
  write_made_of(json, "parts", row, row.sides[row.side].made_of);
  json.close('}');
}

void write_rename(JsonPieces& json, const CgroupRename& rename) {
  json.open_item();
  json.text_member("baseline", rename.baseline);
  json.text_member("candidate", rename.candidate);
  json.text_member("baseline_root", rename.baseline_root);
  json.text_member("candidate_root", rename.candidate_root);
  json.number_member("kinds_in_common", rename.in_common);
  json.number_member("kinds_in_all", rename.in_all);
  write_kinds(json, "only_baseline", rename.only_baseline);
  write_kinds(json, "only_candidate", rename.only_candidate);
  json.key("below");
  json.open('[');
  for (const auto& [before, after] : rename.below) {
    json.open_item();
    json.text_member("baseline", before);
    json.text_member("candidate", after);
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

}  // namespace ctprof
