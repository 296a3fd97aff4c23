#include "core/render/noise_text.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/report/noise_pairs.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {
namespace {

const PlannedMetric& metric_of(const Report& report, const Noise& noise, const NoiseRow& row) {
  return report.metrics()[noise.columns[row.column].metric];
}

using RowsByGroup = std::unordered_map<std::uint32_t, const ScreenRow*>;

RowsByGroup rows_by_group(const Report& report) {
  RowsByGroup rows;
  for (const ScreenRow& row : report.screen()->rows) rows.emplace(row.group, &row);
  return rows;
}

// Returns the figure as the first screen shows it.
double shown_figure(const Report& report, const RowsByGroup& on_screen, const Noise& noise,
                    const NoiseRow& row) {
  if (const auto found = on_screen.find(row.group); found != on_screen.end())
    return report.screen()->figures(*found->second, row.column)[0].value;
  const Headline& headline = noise.columns[row.column].headline;
  return headline.shown == CTPROF_SHOWN_PERCENT ? row.median / 1e7 : row.median;
}

std::string_view unit_of(const Report& report, const Noise& noise, const NoiseRow& row) {
  const bool is_percent = noise.columns[row.column].headline.shown == CTPROF_SHOWN_PERCENT;
  return is_percent ? "percent" : std::string_view(metric_of(report, noise, row).unit);
}

std::string without_sign(double shift) {
  const std::string text = shift_text(shift);
  return text.starts_with('+') ? text.substr(1) : text;
}

// "12 pairs, 48 s"
std::string pairs_text(const Noise& noise, const NoiseRow& row) {
  if (!row.enough_pairs) return "more than " + counted(kMostPairs, "pair");
  const double seconds = 2 * noise.run_seconds * static_cast<double>(*row.enough_pairs);
  return counted(*row.enough_pairs, "pair") + ", " + std::to_string(std::llround(seconds)) + " s";
}

std::span<const NoiseRow> first_of(const Noise& noise, std::size_t limit) {
  return std::span(noise.rows)
      .first(limit ? std::min(limit, noise.rows.size()) : noise.rows.size());
}

std::string opening(const Noise& noise, std::string_view files) {
  const std::string ways =
      (noise.all_labellings ? "all " : "") + counted(noise.labellings, "way") + " to split them";
  return printable(files) + ": " + counted(noise.runs, "run") + " of one condition, " + ways +
         " into halves\n";
}

constexpr const char* kMeaning =
    "spread: of the runs; halves: the largest difference of two halves in 19 of 20 ways; next "
    "columns: the shift that is significant in about 9 of 10 comparisons with this many runs per "
    "side (not paired), or with this many interleaved pairs";

std::vector<TextColumn> columns_of(const Noise& noise) {
  std::vector<TextColumn> columns{{"group", Align::Left, 12, false},
                                  {"figure", Align::Left, 0, false},
                                  {"median", Align::Right, 0, true},
                                  {"spread", Align::Right, 0, false},
                                  {"halves", Align::Right, 0, false}};
  for (const std::size_t runs : kNoiseRuns)
    columns.push_back({std::to_string(runs) + "+" + std::to_string(runs), Align::Right, 0, false});
  columns.push_back({std::to_string(kNoiseRunPairs) + " pairs", Align::Right, 0, false});
  if (noise.shift > 0)
    columns.push_back({"for " + without_sign(noise.shift), Align::Left, 0, false});
  return columns;
}

std::vector<TextCell> cells_of(const Report& report, const RowsByGroup& on_screen,
                               const Noise& noise, const NoiseRow& row) {
  const ScreenColumn& column = noise.columns[row.column];
  const auto& name = report.grouping().name(metric_of(report, noise, row).entity, row.group);
  std::vector<TextCell> cells{
      {group_text(report.grouping(), name)},
      {printable(column.headline.label)},
      {brief(shown_figure(report, on_screen, noise, row), unit_of(report, noise, row))},
      {without_sign(row.spread)},
      {without_sign(row.halves)}};
  for (const double shift : row.shows) cells.push_back({without_sign(shift)});
  cells.push_back({without_sign(row.pairs_show)});
  if (noise.shift > 0) cells.push_back({pairs_text(noise, row)});
  return cells;
}

// Returns notes about rows and figures that the table lacks, with reasons.
std::string missing_rows(const Report& report, const Noise& noise, std::size_t shown,
                         const TextLayout& layout) {
  std::string out;
  const bool is_any_selected = !report.spec().about || !report.families().about_groups().empty();
  if (shown == 0 && is_any_selected) out += "no group is above the floor of a headline\n";
  for (const std::string& note : report.notes())
    out += wrapped(told_name(note, kMostNote), layout.width);
  if (shown < noise.rows.size())
    out += counted(noise.rows.size() - shown, "more row") + " (--limit 0)\n";
  const bool shows_any = std::ranges::any_of(noise.rows, [](const NoiseRow& row) {
    return std::ranges::any_of(row.shows, [](double shift) { return !std::isnan(shift); });
  });
  if (!shows_any && !noise.rows.empty())
    out += "too few runs to estimate which shift could be significant: record 8 or more\n";
  return out;
}

}  // namespace

std::string noise_text(const Report& report, const Noise& noise, std::string_view files,
                       const TextLayout& layout, std::size_t limit) {
  std::string out = opening(noise, files);
  TextTable table(columns_of(noise));
  const auto rows = first_of(noise, limit);
  const RowsByGroup on_screen = rows_by_group(report);
  for (const NoiseRow& row : rows) table.add(cells_of(report, on_screen, noise, row));
  if (!rows.empty()) table.append_to(out, layout);
  return out + missing_rows(report, noise, rows.size(), layout) +
         wrapped(std::string(kMeaning) + "; at " + p_text(noise.alpha) + ", among " +
                     counted(noise.rows.size(), "row"),
                 layout.width);
}

std::string noise_json(const Report& report, const Noise& noise, std::string_view files,
                       std::size_t limit) {
  std::string out;
  JsonPieces json(out);
  const auto number = [&](std::string_view name, double value) {
    json.key(name);
    json.number(value);
  };
  json.open('{');
  json.number_member("schema", 1);
  json.text_member("file", files);
  json.number_member("runs", noise.runs);
  json.number_member("labellings", noise.labellings);
  json.key("all_labellings");
  json.raw(noise.all_labellings ? "true" : "false");
  number("alpha", noise.alpha);
  json.key("rows");
  json.open('[');
  for (const NoiseRow& row : first_of(noise, limit)) {
    const PlannedMetric& metric = metric_of(report, noise, row);
    json.open_item();
    write_group(json, report.grouping().name(metric.entity, row.group));
    json.text_member("label", noise.columns[row.column].headline.label);
    json.text_member("metric", metric.name);
    json.text_member("unit", metric.unit);
    number("median", row.median);
    number("spread", row.spread);
    number("halves", row.halves);
    json.key("shows");
    json.open('[');
    for (std::size_t at = 0; at < std::size(kNoiseRuns); ++at) {
      json.open_item();
      json.number_member("runs", kNoiseRuns[at]);
      number("shift", row.shows[at]);
      json.close('}');
    }
    json.close(']');
    number("pairs_show", row.pairs_show);
    if (noise.shift > 0) {
      json.key("enough_pairs");
      row.enough_pairs ? json.number(number_of(std::uint64_t{*row.enough_pairs}))
                       : json.raw("null");
    }
    json.close('}');
  }
  json.close(']');
  json.number_member("cut", noise.rows.size() - first_of(noise, limit).size());
  json.close('}');
  return out + '\n';
}

}  // namespace ctprof
