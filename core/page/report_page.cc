#include "core/page/report_page.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/base/version.hpp"
#include "core/compare/request/spec.hpp"
#include "core/flame/flame_page.hpp"
#include "core/page/html.hpp"
#include "core/page/page_cards.hpp"
#include "core/page/page_facts.hpp"
#include "core/page/page_files.hpp"
#include "core/page/page_rows.hpp"
#include "core/page/page_stacks.hpp"
#include "core/page/page_strip.hpp"
#include "core/page/report_summary.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_sentences.hpp"

namespace ctprof {
namespace {

// Parts of kMaxReportPageSize; the rest is for style, script, and sentences with limits of their
// own.
constexpr std::size_t kMaxRowBytes = 1'800'000, kMaxStackBytes = 800'000;
constexpr std::size_t kMaxTitleWidth = 160, kMaxCommandWidth = 4'000;  // columns of text
constexpr int kDigits = 5;                                             // of a figure that is sorted

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

// Replaces the blank before a percent sign, so that the sign stays on the line of its number.
std::string protect_percent_signs(std::string text) {
  constexpr std::string_view kBreaking = " %", kNonBreaking = "\u00a0%";
  for (auto at = text.find(kBreaking); at != text.npos;
       at = text.find(kBreaking, at + kNonBreaking.size()))
    if (const auto after = at + kBreaking.size();
        at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9' &&
        (after == text.size() ||
         std::string_view(" ,.;)").find(text[after]) != std::string_view::npos))
      text.replace(at, kBreaking.size(), kNonBreaking);
  return text;
}

class PageWriter {
 public:
  PageWriter(const Report& report, std::span<const std::string> files, const PageStyle& style)
      : report_(&report),
        files_(files),
        style_(&style),
        rows_(make_page_rows(report, style.shows_details)),
        has_runs_(std::ranges::any_of(rows_.rows,
                                      [](const PageRow& row) { return !row.runs.empty(); })) {}

  std::string make_page() {
    append_head();
    append_top();
    out_ += "<main>\n";
    append_rows();
    append_sides(out_, *report_, files_);
    append_stacks(out_, *report_, rows_, kMaxStackBytes);
    append_missing_metrics(out_, *report_);
    append_lost_data(out_, *report_);
    append_command();
    out_ += "</main>\n<script>\n";
    out_.append(kDotsJs).append(kPageJs).append("</script>\n</body>\n</html>\n");
    return std::move(out_);
  }

 private:
  bool compares() const { return report_->is_comparison(); }

  std::string format_title() const {
    std::string text = shorten(make_printable(files_[0]), kMaxTitleWidth);
    return compares() ? text + " → " + shorten(make_printable(files_[1]), kMaxTitleWidth) : text;
  }

  void append_head() {
    out_ +=
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"generator\" content=\"ctprof\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n";
    append_line(out_, "title", format_title());
    out_.append("<style>\n").append(get_flame_style()).append(kPageCss).append("</style>\n");
    out_ += "</head>\n<body>\n<a class=\"skip\" href=\"#rows\">Skip to the rows</a>\n";
  }

  void append_top() {
    out_ += "<header>\n";
    append_line(out_, "h1", format_title());
    append_causes(out_, *report_, {files_, style_->record_command, style_->show_command});
    out_ += "<div class=\"verdict\">\n";
    for (const std::string& sentence : summarize_report(*report_, rows_))
      append_line(out_, "p", protect_percent_signs(sentence));
    out_ += "</div>\n</header>\n";
  }

  // --- the table of rows

  void append_rows() {
    out_ += "<section aria-labelledby=\"moved\">\n";
    append_line(out_, "h2", compares() ? "Changes" : "Values", "id=\"moved\"");
    append_about();
    if (rows_.rows.empty()) {
      append_line(out_, "p", compares() ? "No figure differs." : "No figure is above its floor.");
    } else {
      append_legend();
      append_evidence();
      append_cards(out_, *report_, rows_);
      append_line(out_, "h3", "All figures");
      out_ += "<div class=\"tools\" id=\"tools\" hidden></div>\n";
      append_table();
    }
    if (rows_.quiet_figures)
      append_line(out_, "p", format_count(rows_.quiet_figures, "quiet figure") + " omitted.",
                  "class=\"quiet\"");
    out_ += "</section>\n";
  }

  // Appends the groups of --about first, in a table that the script does not change.
  void append_about() {
    if (rows_.about.empty()) return;
    append_line(out_, "h3", "--about " + make_printable(report_->spec().about->text()));
    out_ += "<div class=\"wide\">\n<table>\n<thead><tr>";
    append_columns();
    out_ += "</tr></thead>\n<tbody>\n";
    append_fitting_rows(rows_.about);
    append_line(out_, "h3", "All groups");
  }

  void append_evidence() {
    if (!rows_.are_tested) return;
    const bool is_for_screen = report_->screen() && !style_->shows_details;
    std::string sentence = describe_evidence(*report_, is_for_screen, 0);
    while (sentence.ends_with('\n')) sentence.pop_back();
    append_line(out_, "p", sentence, "class=\"quiet\"");
  }

  void append_legend() {
    if (!compares()) return;
    out_ += "<p class=\"key quiet\">";
    out_ += has_runs_ ? "Each dot is a run:" : "Bars:";
    out_ += "<i></i>baseline<i class=\"b\"></i>candidate</p>\n";
  }

  void append_table() {
    out_ += "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Rows\">\n";
    out_ += "<table id=\"rows\" data-sides=\"";
    out_ += compares() ? "baseline\tcandidate" : "runs";
    if (rows_.are_tested) out_ += "\" data-p=\"1";
    out_ += "\">\n<thead><tr>";
    append_columns();
    out_ += "</tr></thead>\n<tbody>\n";
    append_fitting_rows(rows_.rows);
  }

  // Appends the rows that fit on the page, the end of their table, and the number of further rows.
  void append_fitting_rows(const std::vector<PageRow>& rows) {
    const std::size_t begin = out_.size();
    std::size_t shown = 0;
    for (; shown < rows.size() && out_.size() - begin < kMaxRowBytes; ++shown)
      append_row(rows[shown]);
    out_ += "</tbody>\n</table>\n</div>\n";
    if (const std::size_t omitted = rows.size() - shown)
      append_line(out_, "p",
                  format_count(omitted, "more row") +
                      " of the smallest omitted from this page: "
                      "ctprof compare --format json prints all.",
                  "class=\"quiet\"");
  }

  // `attributes` select the figure by which the script sorts, and the initial direction.
  void append_column(std::string_view name, std::string_view attributes) {
    append_element(out_, "th", name, "scope=\"col\" " + std::string(attributes));
  }

  void append_columns() {
    append_column("group", "data-first=\"ascending\"");
    append_column("metric", "data-first=\"ascending\"");
    if (compares()) {
      append_column("baseline", "class=\"n v\" data-first=\"descending\" data-v=\"0\"");
      append_column("candidate", "class=\"n v\" data-first=\"descending\" data-v=\"1\"");
      append_column("change", "class=\"n\" data-first=\"descending\" data-v=\"2\" data-size=\"1\"");
      if (rows_.are_tested) {
        append_column("interval", "class=\"n interval\"");
        append_column("p", "class=\"n p\" data-first=\"ascending\" data-v=\"5\"");
      }
      append_column("of all", std::string("class=\"n\" data-first=\"descending\" data-v=\"6\"") +
                                  (rows_.are_tested ? "" : " data-now=\"descending\""));
    } else {
      append_column("value", "class=\"n\" data-first=\"descending\" data-v=\"0\"");
      append_column("of all",
                    "class=\"n\" data-first=\"descending\" data-now=\"descending\" "
                    "data-v=\"1\"");
    }
    append_column(has_runs_ ? "runs" : "bars", "class=\"strip\"");
  }

  void append_row(const PageRow& row) {
    out_ += row.is_insignificant ? "<tr class=\"row not\"" : "<tr class=\"row\"";
    out_ += " data-g=\"" + std::to_string(row.at.group) + "\" data-v=\"" +
            format_list(get_figures(row)) + "\"";
    for (std::size_t side = 0; side < row.runs.size(); ++side)
      out_ += std::string(" data-") + "ab"[side] + "=\"" + format_list(row.runs[side]) + "\"";
    if (row.unit == "bytes") out_ += " data-u=\"b\"";
    out_ += '>';
    append_element(out_, "th", row.group, "scope=\"row\"");
    append_element(out_, "td", row.metric);
    for (const std::string& text : row.texts)
      append_element(out_, "td", text, compares() ? "class=\"n v\"" : "class=\"n\"");
    if (compares()) append_change(row);
    append_element(out_, "td", std::isnan(row.share) ? "-" : format_share(row.share),
                   "class=\"n\"");
    out_ += "<td class=\"strip\">";
    append_strip(out_, row);
    out_ += "</td></tr>\n";
  }

  std::vector<double> get_figures(const PageRow& row) const {
    if (!compares()) return {row.sides[0], row.share};
    const RowTestResult unknown{row.get_relative_change(), kNaN, kNaN, kNaN, false};
    const RowTestResult& shift = row.has_shift() ? *row.test_result : unknown;
    const double p = row.test_result ? row.test_result->p : kNaN;
    return {row.sides[0], row.sides[1], shift.shift, shift.low, shift.high, p, row.share};
  }

  static std::string format_share(double share) {
    return format_brief(std::round(1000 * share) / 10, "percent") + " %";
  }

  void append_change(const PageRow& row) {
    append_element(out_, "td", format_page_change(row), "class=\"n change\"");
    if (!rows_.are_tested) return;
    append_element(out_, "td", row.has_shift() ? format_interval(*row.test_result) : "",
                   "class=\"n interval\"");
    append_element(out_, "td", row.test_result ? format_p(row.test_result->p) : "",
                   "class=\"n p\"");
  }

  // --- the end

  void append_command() {
    out_ += "<section aria-labelledby=\"making\">\n";
    append_line(out_, "h2", "How this page was made", "id=\"making\"");
    out_ += "<pre tabindex=\"0\"><code>";
    append_markup(out_, shorten(make_printable(style_->command), kMaxCommandWidth));
    out_ += "</code></pre>\n";
    append_line(out_, "p", "By ctprof " + std::string(kVersion) + ".", "class=\"quiet\"");
    out_ += "</section>\n";
  }

  const Report* report_;
  std::span<const std::string> files_;
  const PageStyle* style_;
  PageRows rows_;
  bool has_runs_;
  std::string out_;
};

}  // namespace

std::string make_report_page(const Report& report, std::span<const std::string> files,
                             const PageStyle& style) {
  return PageWriter(report, files, style).make_page();
}

}  // namespace ctprof
