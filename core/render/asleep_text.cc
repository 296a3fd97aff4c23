#include "core/render/asleep_text.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/compare/report/rows.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/stacks_text.hpp"
#include "core/stacks/kernel_waits.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kFewLines = 20;
constexpr std::size_t kLeastStack = 24;

struct Line {
  double threads;
  std::string group;
  std::uint32_t stack;
};

bool is_entry(const StackFunction& function) {
  return function.module == "[kernel]" && is_entry_code(function.name);
}

std::string frames_text(const StackBook& book, std::uint32_t stack, std::size_t width) {
  std::vector<std::string> frames;
  for (const std::uint32_t number : book.functions_of(stack, kMostStackFunctions))
    if (const StackFunction& function = book.functions()[number]; !is_entry(function))
      frames.push_back(function_text(function));
  if (frames.empty()) return "[unknown]";
  std::string text = frames[0], fitting;
  for (std::size_t told = 1; told <= frames.size(); ++told) {
    const std::size_t more = frames.size() - told;
    std::string whole =
        more == 0 ? text : text + std::string(kCalledBy) + "… (" + std::to_string(more) + " more)";
    if (told == 1 || width == 0 || display_width(whole) <= width) fitting = std::move(whole);
    if (told == frames.size() || (width > 0 && display_width(text) > width)) break;
    text.append(kCalledBy).append(frames[told]);
  }
  return fitting;
}

// Returns whether the row has stacks of sleeping threads: counted in threads, in a snapshot.
bool is_of_sleepers(const Report& report, const ReportRow& row) {
  return !report.compares() && !report.sides().front().window && row.metric->unit == "count";
}

std::vector<Line> lines_of(const Report& report) {
  std::vector<Line> lines;
  tell(report, RowKind::Stacks, [&](const ReportRow& row) {
    if (row.kind != RowKind::Stacks || !is_of_sleepers(report, row)) return;
    for (const StackRow& stack : row.stacks->stacks)
      lines.push_back({stack.sides[0], group_text(report.grouping(), row.group), stack.stack});
  });
  std::ranges::sort(lines, {}, [](const Line& line) {
    return std::tuple(-line.threads, std::string_view(line.group), line.stack);
  });
  return lines;
}

}  // namespace

std::string asleep_text(const Report& report, const TextLayout& layout,
                        const std::optional<std::size_t>& rows) {
  if (!report.stacks()) return "";
  const std::vector<Line> lines = lines_of(report);
  if (lines.empty()) return "";
  std::string out = "\n" + tinted("## asleep", Tint::Heading, layout.color) + "\n";
  const std::size_t most = rows ? *rows : kFewLines;
  const std::size_t told = most == 0 ? lines.size() : std::min(most, lines.size());
  const std::size_t digits =
      std::to_string(static_cast<std::uint64_t>(lines.front().threads)).size();
  Allowance allowance(report.sides());
  std::size_t left_out = lines.size() - told;
  for (const Line& line : std::span(lines).first(told)) {
    if (allowance.is_spent()) {
      ++left_out;
      continue;
    }
    const auto threads = static_cast<std::uint64_t>(line.threads);
    const std::string number = std::to_string(threads);
    const std::string begin = std::string(digits - std::min(digits, number.size()), ' ') + number +
                              (threads == 1 ? " thread   " : " threads  ") + line.group + ": ";
    const std::size_t taken = display_width(begin);
    const std::size_t left =
        layout.width == 0 || layout.wrap ? 0 : std::max(layout.width, taken + kLeastStack) - taken;
    const std::string frames = frames_text(report.stacks()->book(), line.stack, left);
    allowance.spend(frames.size());
    out += begin + frames + "\n";
  }
  if (left_out > 0) out += counted(left_out, "more line") + " (--limit 0 shows all)\n";
  return out;
}

}  // namespace ctprof
