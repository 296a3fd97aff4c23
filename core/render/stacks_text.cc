#include "core/render/stacks_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/waits_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMinNameWidth = 24;
// Default limits if the user specifies none.
constexpr std::size_t kDefaultGroups = 4, kDefaultFunctions = 8, kDefaultStacks = 4;

std::string format_change(double change, std::string_view unit, std::string_view per_second) {
  return (change > 0 ? "+" : "") + format_brief(change, unit) + std::string(per_second);
}

Tint choose_tint(double change) {
  return change > 0 ? Tint::More : change < 0 ? Tint::Less : Tint::Plain;
}

// The tables of one group.
class GroupTables {
 public:
  GroupTables(const Report& report, const MetricRow& row, const StackGroup& group,
              const TextLayout& layout, const std::optional<std::size_t>& rows, bool shows_idle)
      : report_(&report),
        group_(&group),
        metric_(row.metric),
        per_second_(row.is_per_second ? "/s" : ""),
        layout_(&layout),
        max_functions_(rows ? *rows : kDefaultFunctions),
        max_stacks_(rows ? *rows : kDefaultStacks),
        shows_idle_(shows_idle) {}

  // Returns the value that orders the groups; for waits, without idle ones.
  double get_rank() const {
    if (group_->waits.empty()) return std::abs(largest_change(group_->weights));
    return std::abs(largest_change(sum_waits(&MergedWait::busy_weights)));
  }
  bool is_only_idle() const {
    return !group_->waits.empty() && !shows_idle_ && count_busy_waits() == 0;
  }

  void append_to(std::string& out, const std::string& group) const {
    out += "\n" + make_printable_short(metric_->name) + " of " + group + ": " +
           format_amounts(group_->weights) + "\n";
    if (!group_->waits.empty()) return append_waits(out);
    append_functions(out);
    append_stacks(out);
    append_omitted_counts(out);
  }

 private:
  bool compares() const { return report_->is_comparison(); }
  static std::size_t get_shown_count(std::size_t limit, std::size_t total) {
    return limit == 0 ? total : std::min(limit, total);
  }

  // Returns "1.23s", or "100→180ms/s" for several sides.
  std::string format_amounts(std::span<const double> sides) const {
    return format_brief_steps(sides, metric_->unit) + per_second_;
  }
  TextCell make_change_cell(std::span<const double> sides) const {
    const double change = largest_change(sides);
    return {format_change(change, metric_->unit, per_second_), choose_tint(change)};
  }
  TextCell make_function_change_cell(const FunctionRow& row) const {
    const std::string text = format_function_change(*report_, *group_, row);
    return {text, text.starts_with('+')   ? Tint::More
                  : text.starts_with('-') ? Tint::Less
                                          : Tint::Plain};
  }

  std::vector<TextCell> make_cells(std::span<const double> sides) const {
    std::vector<TextCell> row;
    if (compares()) row.push_back(make_change_cell(sides));
    row.push_back({format_amounts(sides)});
    row.push_back({format_stack_shares(sides, group_->weights)});
    return row;
  }

  std::vector<TextColumn> make_columns(const char* header) const {
    std::vector<TextColumn> columns;
    if (compares()) columns.push_back({"change", Align::Right, 0, false});
    columns.push_back({header, Align::Right, 0, false});
    columns.push_back({"%", Align::Right, 0, false});
    return columns;
  }

  std::vector<double> sum_waits(std::vector<double> MergedWait::*part) const {
    std::vector<double> sums(group_->weights.size());
    for (const MergedWait& wait : group_->waits)
      for (std::size_t side = 0; side < sums.size(); ++side) sums[side] += (wait.*part)[side];
    return sums;
  }

  std::size_t count_busy_waits() const {
    return static_cast<std::size_t>(std::ranges::count_if(group_->waits, is_busy));
  }
  static bool is_busy(const MergedWait& wait) {
    return std::ranges::any_of(wait.busy_weights, [](double side) { return side > 0; });
  }

  std::vector<double> get_shown_weights(const MergedWait& wait) const {
    std::vector<double> sides = wait.busy_weights;
    for (std::size_t side = 0; shows_idle_ && side < sides.size(); ++side)
      sides[side] += wait.idle_weights[side];
    return sides;
  }

  // Returns the waits to show, largest first.
  std::vector<const MergedWait*> select_waits() const {
    std::vector<const MergedWait*> shown;
    for (const MergedWait& wait : group_->waits)
      if (shows_idle_ || is_busy(wait)) shown.push_back(&wait);
    std::ranges::stable_sort(shown, std::ranges::greater{}, [&](const MergedWait* wait) {
      return std::abs(largest_change(get_shown_weights(*wait)));
    });
    return shown;
  }

  void append_waits(std::string& out) const {
    const auto shown = select_waits();
    const auto rows = std::span(shown).first(get_shown_count(max_functions_, shown.size()));
    std::vector<std::vector<TextCell>> lines;
    auto layout = make_columns("waits");
    std::vector<std::size_t> widths;
    for (const TextColumn& column : layout) widths.push_back(get_display_width(column.header));
    for (const MergedWait* wait : rows) {
      lines.push_back(make_cells(get_shown_weights(*wait)));
      for (std::size_t at = 0; at < widths.size(); ++at)
        widths[at] = std::max(widths[at], get_display_width(lines.back()[at].text));
    }
    layout.push_back({std::string(kWaitColumn), Align::Left, kMinNameWidth, false});
    TextTable table(std::move(layout));
    for (std::size_t at = 0; at < rows.size(); ++at) {
      lines[at].push_back({format_wait(report_->stacks()->common_stacks(), *rows[at],
                                       get_remaining_width(widths))});
      table.add_row(std::move(lines[at]));
    }
    if (!table.empty()) table.append_to(out, *layout_);
    append_omitted_waits(out, shown.size() - rows.size());
  }

  void append_omitted_waits(std::string& out, std::size_t omitted) const {
    if (omitted) out += format_count(omitted, "more wait") + " (--limit 0 shows all)\n";
    const auto idle = sum_waits(&MergedWait::idle_weights);
    const bool has_idle = std::ranges::any_of(idle, [](double side) { return side > 0; });
    if (has_idle && !shows_idle_)
      out += "idle, not shown: " + format_amounts(idle) + " (--idle shows them)\n";
  }

  void append_functions(std::string& out) const {
    auto layout = make_columns("self");
    const bool is_tested = report_->stacks()->is_tested();
    if (is_tested) layout.insert(layout.begin() + 1, {"p", Align::Right, 0, false});
    layout.push_back({"total", Align::Right, 0, false});
    layout.push_back({"%", Align::Right, 0, false});
    layout.push_back({"function", Align::Left, kMinNameWidth, false});
    layout.push_back({"module", Align::Left, 0, true});
    TextTable table(std::move(layout));
    const auto& rows = group_->functions;
    for (const FunctionRow& row :
         std::span(rows).first(get_shown_count(max_functions_, rows.size()))) {
      const auto self_weights = figures(row, &FunctionWeight::self);
      auto line = make_cells(self_weights);
      if (compares()) line[0] = make_function_change_cell(row);
      if (is_tested) line.insert(line.begin() + 1, {format_function_p(row)});
      const auto totals = figures(row, &FunctionWeight::total);
      line.push_back({format_amounts(totals)});
      line.push_back({format_stack_shares(totals, group_->weights)});
      const StackFunction& function = report_->stacks()->common_stacks().functions()[row.function];
      line.push_back({format_function(function)});
      line.push_back({make_printable_short(function.module)});
      table.add_row(std::move(line));
    }
    if (!table.empty()) table.append_to(out, *layout_);
  }

  // Appends the table of stacks. Stacks are shortened to the width after the widest cells before
  // them.
  void append_stacks(std::string& out) const {
    const auto& all = group_->stacks;
    const auto rows = std::span(all).first(get_shown_count(max_stacks_, all.size()));
    std::vector<std::vector<TextCell>> lines;
    auto layout = make_columns("stacks");
    std::vector<std::size_t> widths;
    for (const TextColumn& column : layout) widths.push_back(get_display_width(column.header));
    for (const StackRow& row : rows) {
      lines.push_back(make_cells(row.sides));
      for (std::size_t at = 0; at < widths.size(); ++at)
        widths[at] = std::max(widths[at], get_display_width(lines.back()[at].text));
    }
    layout.push_back({"leaf ← caller", Align::Left, kMinNameWidth, false});
    TextTable table(std::move(layout));
    for (std::size_t at = 0; at < rows.size(); ++at) {
      lines[at].push_back({format_stack(report_->stacks()->common_stacks(), rows[at].stack,
                                        get_remaining_width(widths))});
      table.add_row(std::move(lines[at]));
    }
    if (!table.empty()) table.append_to(out, *layout_);
  }

  std::size_t get_remaining_width(std::span<const std::size_t> widths) const {
    if (layout_->width == 0 || layout_->wraps_cells) return 0;
    std::size_t used_width = 0;
    for (const std::size_t width : widths) used_width += width + kColumnGap;
    return std::max(layout_->width, used_width + kMinNameWidth) - used_width;
  }

  void append_omitted_counts(std::string& out) const {
    const auto count_omitted = [](std::size_t shown, std::size_t total, std::size_t over_limit) {
      return total - shown + over_limit;
    };
    const std::size_t functions =
                          count_omitted(get_shown_count(max_functions_, group_->functions.size()),
                                        group_->functions.size(), group_->functions_over_limit),
                      stacks = count_omitted(get_shown_count(max_stacks_, group_->stacks.size()),
                                             group_->stacks.size(), group_->stacks_over_limit);
    std::string text;
    if (functions) text += format_count(functions, "more function");
    if (stacks) text += (text.empty() ? "" : ", ") + format_count(stacks, "more stack");
    if (!text.empty()) out += text + " (--limit 0 shows all)\n";
  }

  const Report* report_;
  const StackGroup* group_;
  const PlannedMetric* metric_;
  std::string per_second_;
  const TextLayout* layout_;
  std::size_t max_functions_, max_stacks_;
  bool shows_idle_;
};

// The text of a group, and its rank among the groups of its metric.
struct GroupText {
  std::uint32_t metric = 0;
  double rank = 0;
  std::string text;
};

// Sorts the groups of each metric by rank; metrics keep their order.
void sort_by_rank(std::vector<GroupText>& groups) {
  std::vector<std::uint32_t> metrics;
  for (const GroupText& group : groups)
    if (std::ranges::find(metrics, group.metric) == metrics.end()) metrics.push_back(group.metric);
  std::ranges::stable_sort(groups, [&](const GroupText& a, const GroupText& b) {
    const auto get_metric_position = [&](const GroupText& group) {
      return std::ranges::find(metrics, group.metric) - metrics.begin();
    };
    return std::pair(get_metric_position(a), -a.rank) < std::pair(get_metric_position(b), -b.rank);
  });
}

}  // namespace

std::string format_stack_shares(std::span<const double> parts, std::span<const double> wholes) {
  std::string text;
  for (std::size_t side = 0; side < parts.size(); ++side) {
    const bool is_known = wholes[side] > 0 && std::isfinite(parts[side]);
    const auto tenths = std::lround(is_known ? 1000 * parts[side] / wholes[side] : 0);
    text += (side == 0 ? "" : "→") +
            (is_known ? std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) : "-");
  }
  return text + (text.ends_with('-') ? "" : "%");
}

std::string format_function_change(const Report& report, const StackGroup& group,
                                   const FunctionRow& row) {
  StackSection& stacks = *report.stacks();
  const bool is_insignificant = stacks.is_tested() && !row.is_significant();
  const std::string mark = is_insignificant ? std::string(kNotSignificant) : "";
  if (!stacks.is_by_share())
    return mark + format_change(largest_change(figures(row, &FunctionWeight::self)),
                                report.metrics()[group.at.metric].unit,
                                report.rollup().is_per_second(group.at.metric) ? "/s" : "");
  char text[32];
  std::snprintf(text, sizeof text, "%+.1fpp",
                100 * largest_change(shares(row, &FunctionWeight::self, group.weights)));
  return mark + text;
}

std::string format_function_p(const FunctionRow& row) {
  const RowTestResult* smallest = nullptr;
  for (const auto& test_result : row.test_results)
    if (test_result && (!smallest || test_result->p < smallest->p)) smallest = &*test_result;
  return smallest ? format_p(smallest->p) : "";
}

std::string format_stacks(const Report& report, const TextLayout& layout,
                          const std::optional<std::size_t>& rows, bool shows_idle) {
  if (!report.stacks() || report.stacks()->groups().empty()) return "";
  std::string out = "\n" + apply_tint("## stacks", Tint::Heading, layout.use_color) + "\n";
  const std::size_t max_groups = rows ? *rows : kDefaultGroups;
  std::size_t omitted = 0, only_idle = 0;
  std::vector<GroupText> groups;
  Allowance allowance(report.sides());
  visit_stacks(report, [&](const MetricRow& row, const StackGroup& group) {
    if (allowance.is_spent()) return void(++omitted);
    const GroupTables tables(report, row, group, layout, rows, shows_idle);
    if (tables.is_only_idle()) return void(++only_idle);
    std::string& text = groups.emplace_back(GroupText{row.at.metric, tables.get_rank(), {}}).text;
    tables.append_to(text, format_group(report.grouping(), row.group));
    allowance.spend(text.size());
  });
  sort_by_rank(groups);
  const std::size_t shown = max_groups == 0 ? groups.size() : std::min(max_groups, groups.size());
  for (const GroupText& group : std::span(groups).first(shown)) out += group.text;
  omitted += groups.size() - shown + report.stacks()->groups_over_limit();
  if (omitted)
    out += "\nstacks of " + format_count(omitted, "more group") + " (--limit 0 shows all)\n";
  if (only_idle)
    out += "\nonly idle waits: " + format_count(only_idle, "group") + " (--idle shows them)\n";
  return out;
}

}  // namespace ctprof
