#include "core/page/page_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/base/number.hpp"
#include "core/page/html.hpp"
#include "core/page/page_strip.hpp"
#include "core/render/evidence_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxRowBytes = 1'800'000;  // part of kMaxReportPageSize
constexpr int kDigits = 5;                       // of a figure that is sorted

// Formats a short number for the script; empty if it is missing.
std::string format_digits(double value) {
  if (!std::isfinite(value)) return {};
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.begin(), text.end(), value, std::chars_format::general, kDigits);
  return {text.data(), end.ptr};
}

std::string format_list(const std::vector<double>& values) {
  std::string text;
  for (std::size_t at = 0; at < values.size(); ++at)
    text += (at == 0 ? "" : ",") + format_digits(values[at]);
  return text;
}

// `attributes` select the figure by which the script sorts, and the initial direction.
void append_column(std::string& out, std::string_view name, std::string_view attributes) {
  append_element(out, "th", name, "scope=\"col\" " + std::string(attributes));
}

std::string format_share(double share) {
  return format_brief(std::round(1000 * share) / 10, "percent") + " %";
}

}  // namespace

bool has_runs(const PageRows& rows) {
  return std::ranges::any_of(rows.rows, [](const PageRow& row) { return !row.runs.empty(); });
}

void PageTable::append_static_to(std::string& out, const std::vector<PageRow>& rows) const {
  out += "<div class=\"wide\">\n<table>\n<thead><tr>";
  append_columns(out);
  out += "</tr></thead>\n<tbody>\n";
  append_fitting_rows(out, rows);
}

void PageTable::append_to(std::string& out, const std::vector<PageRow>& rows) const {
  out += "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Rows\">\n";
  out += "<table id=\"rows\" data-sides=\"";
  out += compares() ? "baseline\tcandidate" : "runs";
  if (rows_->are_tested) out += "\" data-p=\"1";
  out += "\">\n<thead><tr>";
  append_columns(out);
  out += "</tr></thead>\n<tbody>\n";
  append_fitting_rows(out, rows);
}

// Appends the rows that fit on the page, the end of their table, and the number of further rows.
void PageTable::append_fitting_rows(std::string& out, const std::vector<PageRow>& rows) const {
  const std::size_t begin = out.size();
  std::size_t shown = 0;
  for (; shown < rows.size() && out.size() - begin < kMaxRowBytes; ++shown)
    append_row(out, rows[shown]);
  out += "</tbody>\n</table>\n</div>\n";
  if (const std::size_t omitted = rows.size() - shown)
    append_line(out, "p",
                format_count(omitted, "more row") +
                    " of the smallest omitted from this page: "
                    "ctprof compare --format json prints all.",
                "class=\"quiet\"");
}

void PageTable::append_columns(std::string& out) const {
  append_column(out, "group", "data-first=\"ascending\"");
  append_column(out, "metric", "data-first=\"ascending\"");
  if (compares()) {
    append_column(out, "baseline", "class=\"n v\" data-first=\"descending\" data-v=\"0\"");
    append_column(out, "candidate", "class=\"n v\" data-first=\"descending\" data-v=\"1\"");
    append_column(out, "change",
                  "class=\"n\" data-first=\"descending\" data-v=\"2\" data-size=\"1\"");
    if (rows_->are_tested) {
      append_column(out, "interval", "class=\"n interval\"");
      append_column(out, "p", "class=\"n p\" data-first=\"ascending\" data-v=\"5\"");
    }
    append_column(out, "of all",
                  std::string("class=\"n\" data-first=\"descending\" data-v=\"6\"") +
                      (rows_->are_tested ? "" : " data-now=\"descending\""));
  } else {
    append_column(out, "value", "class=\"n\" data-first=\"descending\" data-v=\"0\"");
    append_column(out, "of all",
                  "class=\"n\" data-first=\"descending\" data-now=\"descending\" "
                  "data-v=\"1\"");
  }
  append_column(out, has_runs(*rows_) ? "runs" : "bars", "class=\"strip\"");
}

void PageTable::append_row(std::string& out, const PageRow& row) const {
  out += row.is_insignificant ? "<tr class=\"row not\"" : "<tr class=\"row\"";
  out += " data-g=\"" + std::to_string(row.at.group) + "\" data-v=\"" +
         format_list(get_figures(row)) + "\"";
  for (std::size_t side = 0; side < row.runs.size(); ++side)
    out += std::string(" data-") + "ab"[side] + "=\"" + format_list(row.runs[side]) + "\"";
  if (row.unit == "bytes") out += " data-u=\"b\"";
  out += '>';
  append_element(out, "th", row.group, "scope=\"row\"");
  append_element(out, "td", row.metric);
  for (const std::string& text : row.texts)
    append_element(out, "td", text, compares() ? "class=\"n v\"" : "class=\"n\"");
  if (compares()) append_change(out, row);
  append_element(out, "td", std::isnan(row.share) ? "-" : format_share(row.share), "class=\"n\"");
  out += "<td class=\"strip\">";
  append_strip(out, row);
  out += "</td></tr>\n";
}

std::vector<double> PageTable::get_figures(const PageRow& row) const {
  if (!compares()) return {row.sides[0], row.share};
  const RowTestResult unknown{row.get_relative_change(), kNaN, kNaN, kNaN, false};
  const RowTestResult& shift = row.has_shift() ? *row.test_result : unknown;
  const double p = row.test_result ? row.test_result->p : kNaN;
  return {row.sides[0], row.sides[1], shift.shift, shift.low, shift.high, p, row.share};
}

void PageTable::append_change(std::string& out, const PageRow& row) const {
  append_element(out, "td", format_page_change(row), "class=\"n change\"");
  if (!rows_->are_tested) return;
  append_element(out, "td", row.has_shift() ? format_interval(*row.test_result) : "",
                 "class=\"n interval\"");
  append_element(out, "td", row.test_result ? format_p(row.test_result->p) : "", "class=\"n p\"");
}

}  // namespace ctprof
