#include "core/render/csv_figures.hpp"

#include <utility>

#include "core/base/number.hpp"
#include "core/render/row_json.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

CsvFigures make_empty_figures(std::string_view key, std::string_view unit, bool per_second,
                              std::size_t sides) {
  return {key, get_output_unit(unit), per_second, std::vector<CsvField>(sides),
          std::vector<CsvChange>(sides - 1)};
}

// Returns a number as in JSON. Words and objects of JSON become text.
CsvField make_field(const Report& report, CellPosition at) {
  std::string json;
  report.rollup().append_json(json, at);
  if (json == "null") return {};
  if (json.front() == '-' || (json.front() >= '0' && json.front() <= '9')) return {json, {}};
  if (json.front() == '{' || json.front() == '[')
    return {{}, make_printable(report.rollup().text(at))};
  if (json == "\"max\"") return {{}, "max"};
  return {{}, json.front() == '"' ? make_printable(report.rollup().text(at)) : json};
}

}  // namespace

CsvFigures make_key_csv_figures(std::span<const KeyFigure> key) {
  CsvFigures figures =
      make_empty_figures(key.front().key, key.front().unit, key.front().is_per_second, key.size());
  for (std::size_t side = 0; side < key.size(); ++side)
    figures.by_side[side].number = format_csv_number(key[side].number);
  figures.change = format_csv_number(key.front().change);
  for (std::size_t side = 1; side < key.size(); ++side)
    figures.changes[side - 1] = {{format_csv_number(key[side].difference), {}},
                                 format_csv_number(key[side].pct),
                                 format_csv_number(key[side].rate)};
  return figures;
}

CsvFigures make_weight_csv_figures(const MetricRow& row, std::string_view key,
                                   std::span<const double> sides) {
  CsvFigures figures = make_empty_figures(key, row.metric->unit, row.is_per_second, sides.size());
  for (std::size_t side = 0; side < sides.size(); ++side)
    figures.by_side[side].number = format_csv_number(as_number(sides[side]));
  for (std::size_t side = 1; side < sides.size(); ++side) {
    const Difference change = difference(as_number(sides[0]), as_number(sides[side]));
    figures.changes[side - 1] = {
        {format_csv_number(change), {}},
        format_csv_number(fraction_of_baseline(change, as_number(sides[0]))),
        {}};
  }
  return figures;
}

CsvFigures make_row_csv_figures(const Report& report, const MetricRow& row) {
  CsvFigures figures =
      make_empty_figures({}, row.metric->unit, row.is_per_second, row.sides.size());
  for (std::size_t side = 0; side < row.sides.size(); ++side)
    figures.by_side[side] = make_field(report, row.sides[side].at);
  figures.change = format_csv_number(row.sides.front().change);
  if (row.metric->is_map()) return figures;
  for (std::size_t i = 0; i < row.changes.size(); ++i) {
    const Change& change = row.changes[i].change;
    figures.changes[i].pct = format_csv_number(change.pct);
    figures.changes[i].rate = format_csv_number(row.changes[i].rate);
    if (change.difference.is_known())
      figures.changes[i].delta.number = format_csv_number(change.difference);
    else
      figures.changes[i].delta.text = make_printable(change.rule_text);
  }
  return figures;
}

}  // namespace ctprof
