#include "core/page/page_cards.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/compare/report/findings.hpp"
#include "core/page/html.hpp"
#include "core/page/page_strip.hpp"
#include "core/page/report_summary.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_sentences.hpp"

namespace ctprof {
namespace {

using CardRows = std::vector<const PageRow*>;

// Returns the groups in the order of their cards: that of the first screen, or, without a first
// screen, that of the rows.
std::vector<std::uint32_t> order_groups(const Report& report, const PageRows& rows,
                                        const std::map<std::uint32_t, CardRows>& rows_of_group) {
  std::vector<std::uint32_t> order;
  const auto add = [&](std::uint32_t group) {
    if (rows_of_group.contains(group) && !std::ranges::count(order, group)) order.push_back(group);
  };
  if (report.screen())
    for (const ScreenRow& row : report.screen()->rows) {
      if (order.size() > kMaxCards) break;
      add(row.group);
    }
  for (const PageRow& row : rows.rows) {
    if (order.size() > kMaxCards) break;
    add(row.at.group);
  }
  return order;
}

class CardWriter {
 public:
  CardWriter(std::string& out, const Report& report, const PageRows& rows)
      : out_(out), is_comparison_(report.is_comparison()), are_tested_(rows.are_tested) {}

  void append(const CardRows& rows) {
    out_ += "<section class=\"card\">\n";
    append_line(out_, "h3", rows.front()->group);
    CardRows shown, hidden;
    for (const PageRow* row : rows) (row->is_insignificant ? hidden : shown).push_back(row);
    if (!shown.empty()) append_table(shown);
    if (!hidden.empty()) {
      out_ += "<details>";
      append_line(out_, "summary",
                  format_count(hidden.size(), "figure") + " without a significant difference");
      append_table(hidden);
      out_ += "</details>\n";
    }
    out_ += "</section>\n";
  }

 private:
  void append_table(const CardRows& rows) {
    out_ += "<table>\n<thead class=\"heads\"><tr><th scope=\"col\">metric</th>";
    if (is_comparison_)
      out_ +=
          "<th scope=\"col\">baseline</th><th scope=\"col\">candidate</th>"
          "<th scope=\"col\">change</th>";
    else
      out_ += "<th scope=\"col\">value</th>";
    if (are_tested_) out_ += "<th scope=\"col\">p</th>";
    out_ += "<th scope=\"col\">picture</th></tr></thead>\n<tbody>\n";
    for (const PageRow* row : rows) append_row(*row);
    out_ += "</tbody>\n</table>\n";
  }

  void append_row(const PageRow& row) {
    out_ += "<tr>";
    append_element(out_, "th", row.metric, "scope=\"row\"");
    for (const std::string& text : row.texts) append_element(out_, "td", text, "class=\"n\"");
    if (is_comparison_) append_element(out_, "td", format_page_change(row), "class=\"n\"");
    if (are_tested_)
      append_element(out_, "td", row.test_result ? format_p(row.test_result->p) : "",
                     "class=\"n\"");
    out_ += "<td class=\"strip\">";
    append_strip(out_, row);
    out_ += "</td></tr>\n";
  }

  std::string& out_;
  bool is_comparison_, are_tested_;
};

}  // namespace

void append_causes(std::string& out, const Report& report, const CommandSource& source) {
  const std::vector<Finding> findings = find_causes(report);
  if (findings.empty()) return;
  out += "<ol class=\"causes\" aria-label=\"Causes\">\n";
  for (const Finding& finding : findings) {
    out += "<li>";
    append_element(out, "p", format_finding(finding));
    const std::string command = make_next_command(report, finding, source);
    if (!command.empty()) append_element(out, "code", command);
    out += "</li>\n";
  }
  out += "</ol>\n";
}

void append_cards(std::string& out, const Report& report, const PageRows& rows) {
  std::map<std::uint32_t, CardRows> rows_of_group;
  for (const PageRow& row : rows.rows) rows_of_group[row.at.group].push_back(&row);
  const std::vector<std::uint32_t> order = order_groups(report, rows, rows_of_group);
  if (order.empty()) return;
  out += "<div class=\"cards\">\n";
  CardWriter writer(out, report, rows);
  for (std::size_t at = 0; at < std::min(order.size(), kMaxCards); ++at)
    writer.append(rows_of_group.at(order[at]));
  out += "</div>\n";
  if (rows_of_group.size() > kMaxCards)
    append_line(out, "p",
                format_count(rows_of_group.size() - kMaxCards, "more group") +
                    " in the table of all figures.",
                "class=\"quiet\"");
}

}  // namespace ctprof
