#include "core/render/entity_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/row_texts.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMinObjectWidth = 12;
constexpr std::size_t kKeptMetrics = 2;  // columns that a narrow terminal does not omit

std::string remove_prefix(std::string name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) ? name.substr(prefix.size())
                                                                 : name;
}

std::string remove_suffix(std::string name, std::string_view suffix) {
  if (name.size() > suffix.size() && name.ends_with(suffix))
    name.resize(name.size() - suffix.size());
  return name;
}

// A metric as a column: its header, its unit in cells, and its figures.
class MetricColumn {
 public:
  MetricColumn(const Report& report, std::size_t metric)
      : report_(&report), metric_(metric), unit_(report.metrics()[metric].unit) {
    const PlannedMetric& planned = report.metrics()[metric];
    per_second_ = planned.is_cumulative && report.sides().front().window;
    is_share_ = per_second_ && (unit_ == "ns" || unit_ == "ticks");
    header_ = remove_prefix(planned.name, std::string(name(planned.entity)) + "_");
    for (const char* suffix : {"_ns", "_bytes", "_ticks"}) header_ = remove_suffix(header_, suffix);
    header_ = is_share_ ? "%" + header_ : per_second_ ? header_ + "/s" : header_;
  }

  // Returns the figure of a group on one side in the unit of the cells; NaN if it is missing.
  double figure(std::size_t side, std::uint32_t group) const {
    const double value = as_double(report_->rollup().read({side, group, metric_}).number);
    return value * percent_per_unit(side) / get_seconds(side);
  }

  std::string format(std::uint32_t group) const {
    std::vector<double> figures;
    for (std::size_t side = 0; side < report_->sides().size(); ++side)
      figures.push_back(figure(side, group));
    if (!are_small_counts(figures))
      return format_brief_steps(figures, is_share_ ? "percent" : unit_);
    std::vector<std::string> texts;
    for (const double value : figures) texts.push_back(format_decimal_count(value));
    return join_with_arrow(texts);
  }

  // Returns the figure that orders the group: its value, or the largest change between the sides. A
  // derived metric, such as a mean latency, is not part of a total, and so does not order groups.
  double weight(std::uint32_t group) const {
    if (report_->metrics()[metric_].expression) return 0;
    const auto or_zero = [](double value) { return std::isnan(value) ? 0 : value; };
    const double first = or_zero(figure(0, group));
    double largest = report_->is_comparison() ? 0 : std::fabs(first);
    for (std::size_t side = 1; side < report_->sides().size(); ++side)
      largest = std::max(largest, std::fabs(or_zero(figure(side, group)) - first));
    return largest;
  }

  bool has_nonzero_figure(std::uint32_t group) const {
    for (std::size_t side = 0; side < report_->sides().size(); ++side)
      if (const double value = figure(side, group); !std::isnan(value) && value != 0) return true;
    return false;
  }

  const std::string& header() const { return header_; }

 private:
  // Returns whether the figures are counts, not rates, that need no scale.
  bool are_small_counts(const std::vector<double>& figures) const {
    constexpr double kScaledFrom = 1000;
    return !per_second_ && unit_ == "count" && std::ranges::all_of(figures, [](double value) {
      return value >= 0 && value < kScaledFrom && value == std::floor(value);
    });
  }
  // Returns the factor from the unit per second to percent, if the column shows a percentage.
  double percent_per_unit(std::size_t side) const {
    if (!is_share_) return 1;
    const auto ns_per_unit = unit_ == "ns" ? 1 : ns_per_tick(report_->sides()[side].meta.user_hz);
    return 100 * static_cast<double>(ns_per_unit) / static_cast<double>(kNsPerSecond);
  }
  // Returns the divisor of a counter. The rollup of several windows already contains rates.
  double get_seconds(std::size_t side) const {
    if (!per_second_ || report_->rollup().is_per_second(metric_)) return 1;
    return static_cast<double>(report_->sides()[side].window->length_ns) /
           static_cast<double>(kNsPerSecond);
  }

  const Report* report_;
  std::size_t metric_;
  std::string unit_, header_;
  bool per_second_ = false, is_share_ = false;
};

// The objects and columns that have values other than zero.
class EntityTable {
 public:
  explicit EntityTable(const Report& report) : report_(&report) {
    const auto groups = static_cast<std::uint32_t>(report.grouping().names.size());
    std::vector<double> score(groups, 0);
    for (std::uint32_t group = 0; group < groups; ++group) rows_ += exists(group);
    for (std::size_t metric = 0; metric < report.metrics().size(); ++metric)
      if (report.metrics()[metric].is_shown && report.metrics()[metric].has_number())
        add_column(MetricColumn(report, metric), score);
    for (std::uint32_t group = 0; group < groups; ++group)
      if (score[group] > 0) objects_.push_back(group);
    std::ranges::stable_sort(objects_, std::greater<>{}, [&](auto group) { return score[group]; });
  }

  std::string format(const TextLayout& layout) const {
    if (objects_.empty())
      return report_->is_comparison() ? "no figure of these objects differs\n"
                                      : "all figures of these objects are zero\n";
    std::vector<TextColumn> columns{
        {std::string(name(report_->spec().entity)), Align::Left, kMinObjectWidth, false}};
    for (const MetricColumn& column : columns_)
      columns.push_back(
          {make_printable_short(column.header()), Align::Right, 0, columns.size() > kKeptMetrics});
    TextTable table(std::move(columns));
    for (const std::uint32_t group : get_shown_objects()) table.add_row(make_cells(group));
    std::string out;
    table.append_to(out, layout);
    return out;
  }

  std::string describe_omitted_data() const {
    std::vector<std::string> parts;
    if (const std::size_t more = objects_.size() - get_shown_objects().size())
      parts.push_back(format_count(more, "more row") + " (--limit 0)");
    if (rows_ > objects_.size())
      parts.push_back(format_count(rows_ - objects_.size(), "row") + without_change());
    if (idle_columns_) parts.push_back(format_count(idle_columns_, "column") + " of zeros");
    parts.push_back("exact figures (--details)");
    std::string text = "not shown: ";
    for (const std::string& part : parts) text += (&part == &parts.front() ? "" : ", ") + part;
    return text;
  }

 private:
  bool exists(std::uint32_t group) const {
    return std::ranges::any_of(report_->grouping().sides, [&](const SideGroups& side) {
      return side.rows(report_->spec().entity, group) > 0;
    });
  }

  const char* without_change() const {
    return report_->is_comparison() ? " without a change" : " of zeros";
  }

  // Adds the column if it has a figure, and raises the score of a group to its share of the column.
  void add_column(MetricColumn column, std::vector<double>& score) {
    double total = 0;
    bool has_figure = false;
    for (std::uint32_t group = 0; group < score.size(); ++group) {
      total += column.weight(group);
      has_figure = has_figure || column.has_nonzero_figure(group);
    }
    if (!has_figure) return void(++idle_columns_);
    for (std::uint32_t group = 0; total > 0 && group < score.size(); ++group)
      score[group] = std::max(score[group], column.weight(group) / total);
    columns_.push_back(std::move(column));
  }

  std::span<const std::uint32_t> get_shown_objects() const {
    const std::size_t limit = report_->spec().limit;
    return std::span(objects_).first(limit ? std::min(limit, objects_.size()) : objects_.size());
  }

  std::vector<TextCell> make_cells(std::uint32_t group) const {
    std::vector<TextCell> cells{
        {format_group(report_->grouping(), report_->grouping().names[group])}};
    for (const MetricColumn& column : columns_) cells.push_back({column.format(group)});
    return cells;
  }

  const Report* report_;
  std::vector<MetricColumn> columns_;
  std::vector<std::uint32_t> objects_;  // with a score, in descending order
  std::size_t rows_ = 0;                // objects of all sides
  std::size_t idle_columns_ = 0;
};

}  // namespace

std::string format_entity_table(const Report& report, const TextLayout& layout) {
  const EntityTable table(report);
  return table.format(layout) + format_missing_metrics(report, layout.width) +
         wrap_words(table.describe_omitted_data(), layout.width);
}

}  // namespace ctprof
