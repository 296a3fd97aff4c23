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

constexpr std::size_t kMostGroups = 8;
constexpr FlamePart kPart{.most_frames = 160, .least_share = 1.0 / 400};
constexpr std::size_t kLeastFrames = 20;   // a graph with fewer frames is not useful
constexpr std::size_t kMostFunctions = 5;  // below a graph
constexpr std::size_t kMostName = 200;     // columns of text

class StacksWriter {
 public:
  StacksWriter(const Report& report, std::size_t room) : report_(&report), room_(room) {
    for (const RowAt at : report.stacks()->groups()) metrics_[at.group].push_back(at.metric);
  }

  // Returns the groups in the order of their rows, then groups without rows.
  std::vector<std::uint32_t> groups(const PageRows& rows) const {
    std::vector<std::uint32_t> order;
    std::set<std::uint32_t> taken;
    const auto take = [&](std::uint32_t group) {
      if (metrics_.contains(group) && taken.insert(group).second) order.push_back(group);
    };
    for (const PageRow& row : rows.rows) take(row.at.group);
    for (const RowAt at : report_->stacks()->groups()) take(at.group);
    return order;
  }

  std::string section(const PageRows& rows) {
    const auto order = groups(rows);
    std::size_t left_out = order.size() - std::min(order.size(), kMostGroups);
    for (std::size_t at = 0; at < order.size() - left_out; ++at)
      if (!add(order[at])) {
        left_out = order.size() - at;
        break;
      }
    if (left_out)
      append_line(out_, "p",
                  "The stacks of " + counted(left_out, "more group") +
                      " are omitted; `ctprof flame` draws all.",
                  "class=\"quiet\"");
    return std::move(out_);
  }

 private:
  // Returns false if the group exceeds the remaining bytes.
  bool add(std::uint32_t group) {
    std::string made = "<article data-g=\"" + std::to_string(group) + "\">\n";
    append_line(
        made, "h3",
        shortened(group_text(report_->grouping(), report_->grouping().names[group]), kMostName));
    for (const std::uint32_t metric : metrics_.at(group)) {
      if (out_.size() + made.size() > room_) return false;
      append_figure(made, {group, metric}, room_ - out_.size() - made.size());
    }
    made += "</article>\n";
    if (out_.size() + made.size() > room_) return false;
    out_ += made;
    return true;
  }

  std::string name_of(std::uint32_t group) const {
    return shortened(group_text(report_->grouping(), report_->grouping().names[group]), kMostName);
  }

  // Draws the graph, with fewer frames if names are long.
  std::string picture(const FlameTree& tree, const FlameStyle& style, std::size_t room) const {
    FlamePart part = kPart;
    std::string drawn = flame_part(tree, style, part);
    while (drawn.size() > room / 3 && part.most_frames > kLeastFrames) {
      part.most_frames /= 2;
      drawn = flame_part(tree, style, part);
    }
    return drawn;
  }

  void append_figure(std::string& out, RowAt at, std::size_t room) const {
    const PlannedMetric& metric = report_->metrics()[at.metric];
    const FlameTree tree = group_tree(*report_, at);
    const FlameStyle style{.title = metric.name, .unit = metric.unit};
    out += "<figure>\n<figcaption>";
    append_element(out, "b", shortened(printable(metric.name), kMostName));
    append_markup(out, ": " + amounts(tree, metric));
    out += "</figcaption>\n";
    if (tree.root().now.total > 0) out += picture(tree, style, room);
    append_functions(out, at);
    out += "</figure>\n";
  }

  std::string amount(double weight, const PlannedMetric& metric) const {
    const std::string text = brief(std::round(weight), metric.unit);
    return text + (report_->rollup().per_second(metric_number(metric)) ? "/s" : "");
  }
  std::size_t metric_number(const PlannedMetric& metric) const {
    return static_cast<std::size_t>(&metric - report_->metrics().data());
  }

  std::string amounts(const FlameTree& tree, const PlannedMetric& metric) const {
    const std::string now = amount(static_cast<double>(tree.root().now.total), metric);
    if (!tree.has_base) return now;
    return amount(static_cast<double>(tree.root().base.total), metric) + " → " + now;
  }

  // Appends the main data of the graph as a table, for readers who cannot see the graph.
  void append_functions(std::string& out, RowAt at) const {
    const StackGroup group = report_->stacks()->of(at);
    if (group.functions.empty()) return;
    const PlannedMetric& metric = report_->metrics()[at.metric];
    out += "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"";
    append_markup(out, "Functions: " + shortened(printable(metric.name), kMostName) + " of " +
                           name_of(at.group));
    out += "\">\n<table class=\"functions\">\n<thead><tr><th scope=\"col\">function</th>";
    for (const char* figure : {"self", "total"})
      append_element(out, "th", figure, "scope=\"col\" class=\"n\"");
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t row = 0; row < std::min(group.functions.size(), kMostFunctions); ++row) {
      const FunctionRow& told = group.functions[row];
      out += "<tr>";
      append_element(
          out, "th",
          shortened(function_text(report_->stacks()->book().functions()[told.function]), kMostName),
          "scope=\"row\"");
      append_element(out, "td", steps(figures(told, &FunctionWeight::self), metric), "class=\"n\"");
      append_element(out, "td", steps(figures(told, &FunctionWeight::total), metric),
                     "class=\"n\"");
      out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n</div>\n";
  }

  std::string steps(const std::vector<double>& sides, const PlannedMetric& metric) const {
    std::string text;
    for (const double side : sides) text += (text.empty() ? "" : " → ") + amount(side, metric);
    return text;
  }

  const Report* report_;
  std::size_t room_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> metrics_;  // by group
  std::string out_;
};

constexpr std::string_view kLegend =
    "<p class=\"legend quiet\">Each frame is a function below the functions that it called; its "
    "width "
    "is its share of the candidate; a click enlarges it.<i style=\"background:#e0301e\"></i>larger "
    "self weight than in the baseline<i style=\"background:#2467d6\"></i>smaller";
constexpr std::string_view kUnproven = "<i style=\"background:#9aa3ad\"></i>not significant";
constexpr std::string_view kLegendOfOne =
    "<p class=\"legend quiet\">Each frame is a function below the functions that it called; its "
    "width "
    "is its share; a click enlarges it.";

}  // namespace

void append_stacks(std::string& out, const Report& report, const PageRows& rows, std::size_t room) {
  if (!report.stacks() || report.stacks()->groups().empty()) return;
  out += "<section aria-labelledby=\"stacks\">\n";
  append_line(out, "h2", "Call stacks", "id=\"stacks\"");
  out += report.compares() ? kLegend : kLegendOfOne;
  if (report.stacks()->judges()) out += kUnproven;
  out += "</p>\n";
  out += StacksWriter(report, room).section(rows);
  out += "</section>\n";
}

}  // namespace ctprof
