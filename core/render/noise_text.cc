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

const PlannedMetric& get_metric(const Report& report, const Noise& noise, const NoiseRow& row) {
  return report.metrics()[noise.columns[row.column].metric];
}

using RowsByGroup = std::unordered_map<std::uint32_t, const ScreenRow*>;

RowsByGroup index_rows_by_group(const Report& report) {
  RowsByGroup rows;
  for (const ScreenRow& row : report.screen()->rows) rows.emplace(row.group, &row);
  return rows;
}

// Returns the figure as the first screen shows it.
double get_displayed_figure(const Report& report, const RowsByGroup& on_screen, const Noise& noise,
                            const NoiseRow& row) {
  if (const auto found = on_screen.find(row.group); found != on_screen.end())
    return report.screen()->figures(*found->second, row.column)[0].value;
  const Headline& headline = noise.columns[row.column].headline;
  return headline.shown == CTPROF_SHOWN_PERCENT ? row.median / 1e7 : row.median;
}

std::string_view get_unit(const Report& report, const Noise& noise, const NoiseRow& row) {
  const bool is_percent = noise.columns[row.column].headline.shown == CTPROF_SHOWN_PERCENT;
  return is_percent ? "percent" : std::string_view(get_metric(report, noise, row).unit);
}

std::string format_unsigned(double shift) {
  const std::string text = format_shift(shift);
  return text.starts_with('+') ? text.substr(1) : text;
}

// "12 pairs, 48 s"
std::string format_pairs(const Noise& noise, const NoiseRow& row) {
  if (!row.required_pairs) return "more than " + format_count(kMaxPairs, "pair");
  const double seconds = 2 * noise.run_seconds * static_cast<double>(*row.required_pairs);
  return format_count(*row.required_pairs, "pair") + ", " + std::to_string(std::llround(seconds)) +
         " s";
}

std::span<const NoiseRow> get_first_rows(const Noise& noise, std::size_t limit) {
  return std::span(noise.rows)
      .first(limit ? std::min(limit, noise.rows.size()) : noise.rows.size());
}

std::string format_heading_line(const Noise& noise, std::string_view files) {
  const std::string ways_text = (noise.has_all_labellings ? "all " : "") +
                                format_count(noise.labellings, "way") + " to split them";
  return make_printable(files) + ": " + format_count(noise.runs, "run") + " of one condition, " +
         ways_text + " into halves\n";
}

constexpr const char* kLegend =
    "spread: the variation between the runs; halves: the largest difference between two halves in "
    "19 of 20 ways to split the runs; next columns: the shift that is significant in about 9 of 10 "
    "comparisons with this many runs per side (not paired), or with this many interleaved pairs";

std::vector<TextColumn> make_columns(const Noise& noise) {
  std::vector<TextColumn> columns{{"group", Align::Left, 12, false},
                                  {"figure", Align::Left, 0, false},
                                  {"median", Align::Right, 0, true},
                                  {"spread", Align::Right, 0, false},
                                  {"halves", Align::Right, 0, false}};
  for (const std::size_t runs : kNoiseRuns)
    columns.push_back({std::to_string(runs) + "+" + std::to_string(runs), Align::Right, 0, false});
  columns.push_back({std::to_string(kNoiseRunPairs) + " pairs", Align::Right, 0, false});
  if (noise.shift > 0)
    columns.push_back({"for " + format_unsigned(noise.shift), Align::Left, 0, false});
  return columns;
}

std::vector<TextCell> make_cells(const Report& report, const RowsByGroup& on_screen,
                                 const Noise& noise, const NoiseRow& row) {
  const ScreenColumn& column = noise.columns[row.column];
  const auto& name = report.grouping().name(get_metric(report, noise, row).entity, row.group);
  std::vector<TextCell> cells{{format_group(report.grouping(), name)},
                              {make_printable(column.headline.label)},
                              {format_brief(get_displayed_figure(report, on_screen, noise, row),
                                            get_unit(report, noise, row))},
                              {format_unsigned(row.spread)},
                              {format_unsigned(row.halves_difference)}};
  for (const double shift : row.detectable_shifts) cells.push_back({format_unsigned(shift)});
  cells.push_back({format_unsigned(row.detectable_shift_of_pairs)});
  if (noise.shift > 0) cells.push_back({format_pairs(noise, row)});
  return cells;
}

// Returns notes about rows and figures that the table lacks, with reasons.
std::string describe_missing_rows(const Report& report, const Noise& noise, std::size_t shown,
                                  const TextLayout& layout) {
  std::string out;
  const bool is_any_selected = !report.spec().about || !report.families().about_groups().empty();
  if (shown == 0 && is_any_selected) out += "no group is above the floor of a headline\n";
  for (const std::string& note : report.notes())
    out += wrap_words(make_printable_short(note, kMaxNoteBytes), layout.width);
  if (shown < noise.rows.size())
    out += format_count(noise.rows.size() - shown, "more row") + " (--limit 0)\n";
  const bool has_any_shift = std::ranges::any_of(noise.rows, [](const NoiseRow& row) {
    return std::ranges::any_of(row.detectable_shifts,
                               [](double shift) { return !std::isnan(shift); });
  });
  if (!has_any_shift && !noise.rows.empty())
    out += "too few runs to estimate which shift could be significant: record 8 or more\n";
  return out;
}

}  // namespace

std::string format_noise_text(const Report& report, const Noise& noise, std::string_view files,
                              const TextLayout& layout, std::size_t limit) {
  std::string out = format_heading_line(noise, files);
  TextTable table(make_columns(noise));
  const auto rows = get_first_rows(noise, limit);
  const RowsByGroup on_screen = index_rows_by_group(report);
  for (const NoiseRow& row : rows) table.add_row(make_cells(report, on_screen, noise, row));
  if (!rows.empty()) table.append_to(out, layout);
  return out + describe_missing_rows(report, noise, rows.size(), layout) +
         wrap_words(std::string(kLegend) + "; significance level " + format_p(noise.alpha) +
                        ", adjusted for " + format_count(noise.rows.size(), "row"),
                    layout.width);
}

std::string format_noise_json(const Report& report, const Noise& noise, std::string_view files,
                              std::size_t limit) {
  std::string out;
  JsonBuilder json(out);
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
  json.raw(noise.has_all_labellings ? "true" : "false");
  number("alpha", noise.alpha);
  json.key("rows");
  json.open('[');
  for (const NoiseRow& row : get_first_rows(noise, limit)) {
    const PlannedMetric& metric = get_metric(report, noise, row);
    json.open_item();
    write_group(json, report.grouping().name(metric.entity, row.group));
    json.text_member("label", noise.columns[row.column].headline.label);
    json.text_member("metric", metric.name);
    json.text_member("unit", metric.unit);
    number("median", row.median);
    number("spread", row.spread);
    number("halves", row.halves_difference);
    json.key("shows");
    json.open('[');
    for (std::size_t at = 0; at < std::size(kNoiseRuns); ++at) {
      json.open_item();
      json.number_member("runs", kNoiseRuns[at]);
      number("shift", row.detectable_shifts[at]);
      json.close('}');
    }
    json.close(']');
    number("pairs_show", row.detectable_shift_of_pairs);
    if (noise.shift > 0) {
      json.key("enough_pairs");
      row.required_pairs ? json.number(make_number(std::uint64_t{*row.required_pairs}))
                         : json.raw("null");
    }
    json.close('}');
  }
  json.close(']');
  json.number_member("cut", noise.rows.size() - get_first_rows(noise, limit).size());
  json.close('}');
  return out + '\n';
}

}  // namespace ctprof
