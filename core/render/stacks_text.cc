#include "core/render/stacks_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

constexpr std::size_t kLeastName = 24;
// Default limits if the user specifies none.
constexpr std::size_t kFewGroups = 4, kFewFunctions = 8, kFewStacks = 4;

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), number, 16).ptr;
  return "0x" + std::string(digits.begin(), end);
}

std::string more_text(std::size_t more) { return "… (" + std::to_string(more) + " more)"; }

// Returns "70.1%", or "10.0→15.0%" for several sides; "-" for a side without a value.
std::string percent_text(std::span<const double> parts, std::span<const double> wholes) {
  std::vector<std::string> steps;
  for (std::size_t side = 0; side < parts.size(); ++side) {
    const bool is_known = wholes[side] > 0 && std::isfinite(parts[side]);
    const auto tenths = std::lround(is_known ? 1000 * parts[side] / wholes[side] : 0);
    steps.push_back(is_known ? std::to_string(tenths / 10) + "." + std::to_string(tenths % 10)
                             : "-");
  }
  std::string text;
  for (const std::string& step : steps) text += (text.empty() ? "" : "→") + step;
  return text + (text.ends_with('-') ? "" : "%");
}

Tint tint_of(double change) {
  return change > 0 ? Tint::More : change < 0 ? Tint::Less : Tint::Plain;
}

// The tables of one group.
class GroupTables {
 public:
  GroupTables(const Report& report, const ReportRow& opens, const TextLayout& layout,
              const std::optional<std::size_t>& rows, bool shows_idle)
      : report_(&report),
        group_(opens.stacks),
        metric_(opens.metric),
        per_second_(opens.per_second ? "/s" : ""),
        layout_(&layout),
        most_functions_(rows ? *rows : kFewFunctions),
        most_stacks_(rows ? *rows : kFewStacks),
        shows_idle_(shows_idle) {}

  // Returns the value that orders the groups; for waits, without idle ones.
  double rank() const {
    if (group_->waits.empty()) return std::abs(went(group_->weights));
    return std::abs(went(all_of(&FoldedWait::busy)));
  }
  bool is_only_idle() const { return !group_->waits.empty() && !shows_idle_ && busy_waits() == 0; }

  void append_to(std::string& out, const std::string& group) const {
    out +=
        "\n" + told_name(metric_->name) + " of " + group + ": " + amounts(group_->weights) + "\n";
    if (!group_->waits.empty()) return append_waits(out);
    append_functions(out);
    append_stacks(out);
    append_rest(out);
  }

 private:
  bool compares() const { return report_->compares(); }
  static std::size_t kept(std::size_t most, std::size_t all) {
    return most == 0 ? all : std::min(most, all);
  }

  // Returns "1.23s", or "100→180ms/s" for several sides.
  std::string amounts(std::span<const double> sides) const {
    return brief_steps(sides, metric_->unit) + per_second_;
  }
  TextCell change(std::span<const double> sides, bool in_doubt = false) const {
    const double change = went(sides);
    return {(in_doubt ? std::string(kNotProven) : "") + (change > 0 ? "+" : "") +
                brief(change, metric_->unit) + per_second_,
            in_doubt ? Tint::Plain : tint_of(change)};
  }
  // Returns the smallest p of the row's changes; empty if none was tested.
  static TextCell p_of(const FunctionRow& row) {
    const Proof* surest = nullptr;
    for (const auto& proof : row.proofs)
      if (proof && (!surest || proof->p < surest->p)) surest = &*proof;
    return {surest ? p_text(surest->p) : ""};
  }

  std::vector<TextCell> cells(std::span<const double> sides) const {
    std::vector<TextCell> row;
    if (compares()) row.push_back(change(sides));
    row.push_back({amounts(sides)});
    row.push_back({percent_text(sides, group_->weights)});
    return row;
  }

  std::vector<TextColumn> columns(const char* what) const {
    std::vector<TextColumn> columns;
    if (compares()) columns.push_back({"change", Align::Right, 0, false});
    columns.push_back({what, Align::Right, 0, false});
    columns.push_back({"%", Align::Right, 0, false});
    return columns;
  }

  std::vector<double> all_of(std::vector<double> FoldedWait::*part) const {
    std::vector<double> sums(group_->weights.size());
    for (const FoldedWait& wait : group_->waits)
      for (std::size_t side = 0; side < sums.size(); ++side) sums[side] += (wait.*part)[side];
    return sums;
  }

  std::size_t busy_waits() const {
    return static_cast<std::size_t>(std::ranges::count_if(group_->waits, is_busy));
  }
  static bool is_busy(const FoldedWait& wait) {
    return std::ranges::any_of(wait.busy, [](double side) { return side > 0; });
  }

  std::vector<double> shown_of(const FoldedWait& wait) const {
    std::vector<double> sides = wait.busy;
    for (std::size_t side = 0; shows_idle_ && side < sides.size(); ++side)
      sides[side] += wait.idle[side];
    return sides;
  }

  // Returns the waits to show, largest first.
  std::vector<const FoldedWait*> shown_waits() const {
    std::vector<const FoldedWait*> shown;
    for (const FoldedWait& wait : group_->waits)
      if (shows_idle_ || is_busy(wait)) shown.push_back(&wait);
    std::ranges::stable_sort(shown, std::ranges::greater{}, [&](const FoldedWait* wait) {
      return std::abs(went(shown_of(*wait)));
    });
    return shown;
  }

  void append_waits(std::string& out) const {
    const auto shown = shown_waits();
    const auto rows = std::span(shown).first(kept(most_functions_, shown.size()));
    std::vector<std::vector<TextCell>> lines;
    auto layout = columns("waits");
    std::vector<std::size_t> widths;
    for (const TextColumn& column : layout) widths.push_back(display_width(column.header));
    for (const FoldedWait* wait : rows) {
      lines.push_back(cells(shown_of(*wait)));
      for (std::size_t at = 0; at < widths.size(); ++at)
        widths[at] = std::max(widths[at], display_width(lines.back()[at].text));
    }
    layout.push_back({std::string(kWaitColumn), Align::Left, kLeastName, false});
    TextTable table(std::move(layout));
    for (std::size_t at = 0; at < rows.size(); ++at) {
      lines[at].push_back({wait_text(report_->stacks()->book(), *rows[at], left(widths))});
      table.add(std::move(lines[at]));
    }
    if (!table.empty()) table.append_to(out, *layout_);
    append_rest_of_waits(out, shown.size() - rows.size());
  }

  void append_rest_of_waits(std::string& out, std::size_t more) const {
    if (more) out += counted(more, "more wait") + " (--limit 0 shows all)\n";
    const auto idle = all_of(&FoldedWait::idle);
    const bool has_idle = std::ranges::any_of(idle, [](double side) { return side > 0; });
    if (has_idle && !shows_idle_)
      out += "idle, not shown: " + amounts(idle) + " (--idle shows them)\n";
  }

  void append_functions(std::string& out) const {
    auto layout = columns("self");
    const bool is_judged = report_->stacks()->judges();
    if (is_judged) layout.insert(layout.begin() + 1, {"p", Align::Right, 0, false});
    layout.push_back({"total", Align::Right, 0, false});
    layout.push_back({"%", Align::Right, 0, false});
    layout.push_back({"function", Align::Left, kLeastName, false});
    layout.push_back({"module", Align::Left, 0, true});
    TextTable table(std::move(layout));
    const auto& rows = group_->functions;
    for (const FunctionRow& row : std::span(rows).first(kept(most_functions_, rows.size()))) {
      const auto own = figures(row, &FunctionWeight::self);
      auto line = cells(own);
      if (is_judged) {
        line[0] = change(own, !row.is_proven());
        line.insert(line.begin() + 1, p_of(row));
      }
      const auto totals = figures(row, &FunctionWeight::total);
      line.push_back({amounts(totals)});
      line.push_back({percent_text(totals, group_->weights)});
      const StackFunction& function = report_->stacks()->book().functions()[row.function];
      line.push_back({function_text(function)});
      line.push_back({told_name(function.module)});
      table.add(std::move(line));
    }
    if (!table.empty()) table.append_to(out, *layout_);
  }

  // Appends the table of stacks. Stacks are shortened to the width after the widest cells before
  // them.
  void append_stacks(std::string& out) const {
    const auto& all = group_->stacks;
    const auto rows = std::span(all).first(kept(most_stacks_, all.size()));
    std::vector<std::vector<TextCell>> lines;
    auto layout = columns("stacks");
    std::vector<std::size_t> widths;
    for (const TextColumn& column : layout) widths.push_back(display_width(column.header));
    for (const StackRow& row : rows) {
      lines.push_back(cells(row.sides));
      for (std::size_t at = 0; at < widths.size(); ++at)
        widths[at] = std::max(widths[at], display_width(lines.back()[at].text));
    }
    layout.push_back({"leaf ← caller", Align::Left, kLeastName, false});
    TextTable table(std::move(layout));
    for (std::size_t at = 0; at < rows.size(); ++at) {
      lines[at].push_back({stack_text(report_->stacks()->book(), rows[at].stack, left(widths))});
      table.add(std::move(lines[at]));
    }
    if (!table.empty()) table.append_to(out, *layout_);
  }

  std::size_t left(std::span<const std::size_t> widths) const {
    if (layout_->width == 0 || layout_->wrap) return 0;
    std::size_t taken = 0;
    for (const std::size_t width : widths) taken += width + kColumnGap;
    return std::max(layout_->width, taken + kLeastName) - taken;
  }

  void append_rest(std::string& out) const {
    const auto rest = [](std::size_t told, std::size_t all, std::size_t cut) {
      return all - told + cut;
    };
    const std::size_t functions = rest(kept(most_functions_, group_->functions.size()),
                                       group_->functions.size(), group_->functions_cut),
                      stacks = rest(kept(most_stacks_, group_->stacks.size()),
                                    group_->stacks.size(), group_->stacks_cut);
    std::string text;
    if (functions) text += counted(functions, "more function");
    if (stacks) text += (text.empty() ? "" : ", ") + counted(stacks, "more stack");
    if (!text.empty()) out += text + " (--limit 0 shows all)\n";
  }

  const Report* report_;
  const StackGroup* group_;
  const PlannedMetric* metric_;
  std::string per_second_;
  const TextLayout* layout_;
  std::size_t most_functions_, most_stacks_;
  bool shows_idle_;
};

// The text of a group, and its rank among the groups of its metric.
struct GroupText {
  std::uint32_t metric = 0;
  double rank = 0;
  std::string text;
};

// Sorts the groups of each metric by rank; metrics keep their order.
void put_busiest_first(std::vector<GroupText>& groups) {
  std::vector<std::uint32_t> metrics;
  for (const GroupText& group : groups)
    if (std::ranges::find(metrics, group.metric) == metrics.end()) metrics.push_back(group.metric);
  std::ranges::stable_sort(groups, [&](const GroupText& a, const GroupText& b) {
    const auto place = [&](const GroupText& group) {
      return std::ranges::find(metrics, group.metric) - metrics.begin();
    };
    return std::pair(place(a), -a.rank) < std::pair(place(b), -b.rank);
  });
}

}  // namespace

std::string function_text(const StackFunction& function) {
  std::string text = told_name(function.name);
  if (text.empty()) text = told_name(function.module) + "+" + hexadecimal(function.offset);
  return function.is_guessed ? text + " (guessed)" : text;
}

std::string function_in_module(const StackFunction& function) {
  const bool is_told = function.name.empty() || function.module.empty();
  return function_text(function) + (is_told ? "" : " (" + told_name(function.module) + ")");
}

std::string stack_text(const StackBook& book, std::uint32_t stack, std::size_t width) {
  const std::size_t all = book.depth(stack);
  if (all == 0) return "[unknown]";
  std::string text, fitting;
  std::size_t told = 0;
  for (; stack != StackBook::kEmpty && told < kMostStackFunctions; stack = book.caller(stack)) {
    if (told++) text += kCalledBy;
    StackFunction function = book.functions()[book.function(stack)];
    function.is_guessed = book.is_guessed(stack);
    text += function_text(function);
    if (width == 0 && told < std::min(all, kMostStackFunctions)) continue;
    std::string with_rest = text;
    if (told < all) with_rest.append(kCalledBy).append(more_text(all - told));
    if (told == 1 || width == 0 || display_width(with_rest) <= width)
      fitting = std::move(with_rest);
    else if (display_width(text) > width)
      break;
  }
  return fitting;
}

std::string stacks_text(const Report& report, const TextLayout& layout,
                        const std::optional<std::size_t>& rows, bool shows_idle) {
  if (!report.stacks() || report.stacks()->groups().empty()) return "";
  std::string out = "\n" + tinted("## stacks", Tint::Heading, layout.color) + "\n";
  const std::size_t most = rows ? *rows : kFewGroups;
  std::size_t left_out = 0, only_idle = 0;
  std::vector<GroupText> groups;
  Allowance allowance(report.sides());
  tell(report, RowKind::Stacks, [&](const ReportRow& row) {
    if (row.kind != RowKind::Stacks) return;
    if (allowance.is_spent()) return void(++left_out);
    const GroupTables tables(report, row, layout, rows, shows_idle);
    if (tables.is_only_idle()) return void(++only_idle);
    GroupText& group = groups.emplace_back(GroupText{row.stacks->at.metric, tables.rank(), {}});
    tables.append_to(group.text, group_text(report.grouping(), row.group));
    allowance.spend(group.text.size());
  });
  put_busiest_first(groups);
  const std::size_t told = most == 0 ? groups.size() : std::min(most, groups.size());
  for (const GroupText& group : std::span(groups).first(told)) out += group.text;
  left_out += groups.size() - told + report.stacks()->cut();
  if (left_out)
    out += "\nstacks of " + counted(left_out, "more group") + " (--limit 0 shows all)\n";
  if (only_idle)
    out += "\nonly idle waits: " + counted(only_idle, "group") + " (--idle shows them)\n";
  return out;
}

}  // namespace ctprof
