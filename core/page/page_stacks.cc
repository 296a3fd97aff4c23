#include "core/page/page_stacks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/base/number.hpp"
#include "core/flame/flame_page.hpp"
#include "core/page/group_tree.hpp"
#include "core/page/html.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/stacks_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxGroups = 8;
constexpr FlameLimits kFlameLimits{.max_frames = 160, .min_share = 1.0 / 400};
constexpr std::size_t kMinFrames = 20;      // a graph with fewer frames is not useful
constexpr std::size_t kMaxFunctions = 5;    // below a graph
constexpr std::size_t kMaxNameWidth = 200;  // columns of text

class StacksWriter {
 public:
  StacksWriter(const Report& report, std::size_t max_bytes)
      : report_(&report), max_bytes_(max_bytes) {
    for (const RowPosition at : report.stacks()->groups()) metrics_[at.group].push_back(at.metric);
  }

  // Returns the groups in the order of their rows, then groups without rows.
  std::vector<std::uint32_t> sort_groups(const PageRows& rows) const {
    std::vector<std::uint32_t> order;
    std::set<std::uint32_t> added;
    const auto add_group = [&](std::uint32_t group) {
      if (metrics_.contains(group) && added.insert(group).second) order.push_back(group);
    };
    for (const PageRow& row : rows.rows) add_group(row.at.group);
    for (const RowPosition at : report_->stacks()->groups()) add_group(at.group);
    return order;
  }

  std::string make_section(const PageRows& rows) {
    const auto order = sort_groups(rows);
    std::size_t omitted = order.size() - std::min(order.size(), kMaxGroups);
    for (std::size_t at = 0; at < order.size() - omitted; ++at)
      if (!add_group(order[at])) {
        omitted = order.size() - at;
        break;
      }
    if (omitted)
      append_line(out_, "p",
                  "The stacks of " + format_count(omitted, "more group") +
                      " are omitted; `ctprof flame` draws all.",
                  "class=\"quiet\"");
    return std::move(out_);
  }

 private:
  // Returns false if the group exceeds the remaining bytes.
  bool add_group(std::uint32_t group) {
    std::string article = "<article data-g=\"" + std::to_string(group) + "\">\n";
    append_line(article, "h3",
                shorten(format_group(report_->grouping(), report_->grouping().names[group]),
                        kMaxNameWidth));
    for (const std::uint32_t metric : metrics_.at(group)) {
      if (out_.size() + article.size() > max_bytes_) return false;
      append_figure(article, {group, metric}, max_bytes_ - out_.size() - article.size());
    }
    article += "</article>\n";
    if (out_.size() + article.size() > max_bytes_) return false;
    out_ += article;
    return true;
  }

  std::string format_group_name(std::uint32_t group) const {
    return shorten(format_group(report_->grouping(), report_->grouping().names[group]),
                   kMaxNameWidth);
  }

  // Draws the graph, with fewer frames if names are long.
  std::string draw_graph(const FlameTree& tree, const FlameStyle& style,
                         std::size_t max_bytes) const {
    FlameLimits limits = kFlameLimits;
    std::string graph = make_flame_element(tree, style, limits);
    while (graph.size() > max_bytes / 3 && limits.max_frames > kMinFrames) {
      limits.max_frames /= 2;
      graph = make_flame_element(tree, style, limits);
    }
    return graph;
  }

  void append_figure(std::string& out, RowPosition at, std::size_t max_bytes) const {
    const PlannedMetric& metric = report_->metrics()[at.metric];
    const StackGroup group = report_->stacks()->make_group(at);
    const FlameTree tree = make_group_tree(*report_, at);
    const FlameStyle style{.title = metric.name, .unit = metric.unit};
    out += "<figure>\n<figcaption>";
    append_element(out, "b", shorten(make_printable(metric.name), kMaxNameWidth));
    append_markup(out, ": " + format_sides(group.weights, metric));
    out += "</figcaption>\n";
    if (tree.root().candidate.total > 0) out += draw_graph(tree, style, max_bytes);
    append_functions(out, group);
    out += "</figure>\n";
  }

  std::string format_amount(double weight, const PlannedMetric& metric) const {
    const std::string text = format_brief(std::round(weight), metric.unit);
    return text + (report_->rollup().is_per_second(get_metric_number(metric)) ? "/s" : "");
  }
  std::size_t get_metric_number(const PlannedMetric& metric) const {
    return static_cast<std::size_t>(&metric - report_->metrics().data());
  }

  // Appends the main data of the graph as a table, for readers who cannot see the graph.
  void append_functions(std::string& out, const StackGroup& group) const {
    if (group.functions.empty()) return;
    const PlannedMetric& metric = report_->metrics()[group.at.metric];
    out += "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"";
    append_markup(out, "Functions: " + shorten(make_printable(metric.name), kMaxNameWidth) +
                           " of " + format_group_name(group.at.group));
    out += "\">\n<table class=\"functions\">\n<thead><tr><th scope=\"col\">function</th>";
    const auto append_header = [&](const char* figure) {
      append_element(out, "th", figure, "scope=\"col\" class=\"n\"");
    };
    if (report_->is_comparison()) append_header("change");
    if (report_->stacks()->is_tested()) append_header("p");
    for (const char* figure : {"self", "%", "total"}) append_header(figure);
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t row = 0; row < std::min(group.functions.size(), kMaxFunctions); ++row)
      append_function(out, group, group.functions[row], metric);
    out += "</tbody>\n</table>\n</div>\n";
  }

  void append_function(std::string& out, const StackGroup& group, const FunctionRow& row,
                       const PlannedMetric& metric) const {
    const StackFunction& function = report_->stacks()->common_stacks().functions()[row.function];
    const auto append_cell = [&](const std::string& text) {
      append_element(out, "td", text, "class=\"n\"");
    };
    out += "<tr>";
    append_element(out, "th", shorten(format_function(function), kMaxNameWidth), "scope=\"row\"");
    if (report_->is_comparison()) append_cell(format_function_change(*report_, group, row));
    if (report_->stacks()->is_tested()) append_cell(format_function_p(row));
    const std::vector<double> self_weights = figures(row, &FunctionWeight::self);
    append_cell(format_sides(self_weights, metric));
    append_cell(format_stack_shares(self_weights, group.weights));
    append_cell(format_sides(figures(row, &FunctionWeight::total), metric));
    out += "</tr>\n";
  }

  std::string format_sides(const std::vector<double>& sides, const PlannedMetric& metric) const {
    std::string text;
    for (const double side : sides)
      text += (text.empty() ? "" : " → ") + format_amount(side, metric);
    return text;
  }

  const Report* report_;
  std::size_t max_bytes_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> metrics_;  // by group
  std::string out_;
};

constexpr std::string_view kLegend =
    "<p class=\"legend quiet\">Each frame is a function below the functions that it called; its "
    "width "
    "is its share of the candidate; a click enlarges it.<i style=\"background:#e0301e\"></i>larger "
    "self weight than in the baseline<i style=\"background:#2467d6\"></i>smaller";
constexpr std::string_view kInsignificantLegend =
    "<i style=\"background:#9aa3ad\"></i>not significant";
constexpr std::string_view kLegendOfOne =
    "<p class=\"legend quiet\">Each frame is a function below the functions that it called; its "
    "width "
    "is its share; a click enlarges it.";

}  // namespace

void append_stacks(std::string& out, const Report& report, const PageRows& rows,
                   std::size_t max_bytes) {
  if (!report.stacks() || report.stacks()->groups().empty()) return;
  out += "<section aria-labelledby=\"stacks\">\n";
  append_line(out, "h2", "Call stacks", "id=\"stacks\"");
  out += report.is_comparison() ? kLegend : kLegendOfOne;
  if (report.stacks()->is_tested()) out += kInsignificantLegend;
  out += "</p>\n";
  out += StacksWriter(report, max_bytes).make_section(rows);
  out += "</section>\n";
}

}  // namespace ctprof
