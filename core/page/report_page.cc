#include "core/page/report_page.hpp"

#include <string_view>
#include <vector>

#include "core/base/version.hpp"
#include "core/compare/request/spec.hpp"
#include "core/flame/flame_page.hpp"
#include "core/page/html.hpp"
#include "core/page/page_cards.hpp"
#include "core/page/page_facts.hpp"
#include "core/page/page_files.hpp"
#include "core/page/page_rows.hpp"
#include "core/page/page_stacks.hpp"
#include "core/page/page_table.hpp"
#include "core/page/report_summary.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_sentences.hpp"

namespace ctprof {
namespace {

// Part of kMaxReportPageSize; the rest is for rows (page_table.cc), style, script, and sentences
// with limits of their own.
constexpr std::size_t kMaxStackBytes = 800'000;
constexpr std::size_t kMaxTitleWidth = 160, kMaxCommandWidth = 4'000;  // columns of text

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
        rows_(make_page_rows(report, style.shows_details)) {}

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

  // --- the rows

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
      PageTable(*report_, rows_).append_to(out_, rows_.rows);
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
    PageTable(*report_, rows_).append_static_to(out_, rows_.about);
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
    out_ += has_runs(rows_) ? "Each dot is a run:" : "Bars:";
    out_ += "<i></i>baseline<i class=\"b\"></i>candidate</p>\n";
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
  std::string out_;
};

}  // namespace

std::string make_report_page(const Report& report, std::span<const std::string> files,
                             const PageStyle& style) {
  return PageWriter(report, files, style).make_page();
}

}  // namespace ctprof
