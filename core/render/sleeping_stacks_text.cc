#include "core/render/sleeping_stacks_text.hpp"

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

constexpr std::size_t kDefaultLines = 20;
constexpr std::size_t kMinStackWidth = 24;

struct Line {
  double threads;
  std::string group;
  std::uint32_t stack;
};

bool is_entry_frame(const StackFunction& function) {
  return function.module == "[kernel]" && is_entry_code(function.name);
}

std::string format_frames(const CommonStacks& common, std::uint32_t stack, std::size_t width) {
  std::vector<std::string> frames;
  for (const std::uint32_t number : common.functions_of(stack, kMaxStackFunctions))
    if (const StackFunction& function = common.functions()[number]; !is_entry_frame(function))
      frames.push_back(format_function(function));
  if (frames.empty()) return "[unknown]";
  std::string text = frames[0], fitting;
  for (std::size_t shown = 1; shown <= frames.size(); ++shown) {
    const std::size_t omitted = frames.size() - shown;
    std::string candidate = omitted == 0 ? text
                                         : text + std::string(kCallerSeparator) + "… (" +
                                               std::to_string(omitted) + " more)";
    if (shown == 1 || width == 0 || get_display_width(candidate) <= width)
      fitting = std::move(candidate);
    if (shown == frames.size() || (width > 0 && get_display_width(text) > width)) break;
    text.append(kCallerSeparator).append(frames[shown]);
  }
  return fitting;
}

// Returns whether the row has stacks of sleeping threads: counted in threads, in a snapshot.
bool has_sleeping_stacks(const Report& report, const MetricRow& row) {
  return !report.is_comparison() && !report.sides().front().window && row.metric->unit == "count";
}

std::vector<Line> collect_lines(const Report& report) {
  std::vector<Line> lines;
  visit_stacks(report, [&](const MetricRow& row, const StackGroup& group) {
    if (!has_sleeping_stacks(report, row)) return;
    for (const StackRow& stack : group.stacks)
      lines.push_back({stack.sides[0], format_group(report.grouping(), row.group), stack.stack});
  });
  std::ranges::sort(lines, {}, [](const Line& line) {
    return std::tuple(-line.threads, std::string_view(line.group), line.stack);
  });
  return lines;
}

}  // namespace

std::string format_sleeping_stacks(const Report& report, const TextLayout& layout,
                                   const std::optional<std::size_t>& rows) {
  if (!report.stacks()) return "";
  const std::vector<Line> lines = collect_lines(report);
  if (lines.empty()) return "";
  std::string out = "\n" + apply_tint("## asleep", Tint::Heading, layout.use_color) + "\n";
  const std::size_t max_lines = rows ? *rows : kDefaultLines;
  const std::size_t shown = max_lines == 0 ? lines.size() : std::min(max_lines, lines.size());
  const std::size_t digits =
      std::to_string(static_cast<std::uint64_t>(lines.front().threads)).size();
  Allowance allowance(report.sides());
  std::size_t omitted = lines.size() - shown;
  for (const Line& line : std::span(lines).first(shown)) {
    if (allowance.is_spent()) {
      ++omitted;
      continue;
    }
    const auto threads = static_cast<std::uint64_t>(line.threads);
    const std::string number = std::to_string(threads);
    const std::string begin = std::string(digits - std::min(digits, number.size()), ' ') + number +
                              (threads == 1 ? " thread   " : " threads  ") + line.group + ": ";
    const std::size_t used_width = get_display_width(begin);
    const std::size_t remaining_width =
        layout.width == 0 || layout.wraps_cells
            ? 0
            : std::max(layout.width, used_width + kMinStackWidth) - used_width;
    const std::string frames =
        format_frames(report.stacks()->common_stacks(), line.stack, remaining_width);
    allowance.spend(frames.size());
    out += begin + frames + "\n";
  }
  if (omitted > 0) out += format_count(omitted, "more line") + " (--limit 0 shows all)\n";
  return out;
}

}  // namespace ctprof
