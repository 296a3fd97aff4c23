#include "tools/ctprof/live/heading.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/render/terminal_text.hpp"
#include "core/render/window_text.hpp"

namespace ctprof::live {
namespace {

// Shorter bars are too coarse to read; longer ones take space from the text.
constexpr std::size_t kMinBar = 8, kMaxBar = 40;
constexpr std::size_t kMinSmallBar = 4, kMaxSmallBar = 10;
constexpr std::size_t kPressures = 3;

using OptionalValue = std::optional<double>;

std::string percent_of_cpu(double ns, const Accounting& accounting) {
  return std::to_string(std::llround(100 * ns / accounting.wall));
}

// "130 of 200 %: living 90, exited 30, unaccounted 10 (±2)"
std::string cpu_text(const WindowFacts& window) {
  const Accounting& cpu = *window.accounting;
  const auto part = [&](const char* name, double ns) {
    return std::string(name) + " " + percent_of_cpu(ns, cpu);
  };
  std::string text = percent_of_cpu(cpu.busy, cpu) + " of " + std::to_string(100 * cpu.cpus) +
                     " %: " + part("living", cpu.living);
  if (window.records_exits) text += ", " + part("exited", cpu.exited);
  text += ", " +
          part(window.is_partial ? "others or unaccounted" : "unaccounted", cpu.unaccounted) +
          " (±" + percent_of_cpu(cpu.max_error, cpu) + ")";
  constexpr double kMinShare = 0.005;  // of a CPU
  if (cpu.steal >= kMinShare * cpu.wall) text += ", " + part("stolen", cpu.steal);
  if (cpu.interrupts >= kMinShare * cpu.wall) text += ", " + part("interrupts", cpu.interrupts);
  return text;
}

void add_wrapped(std::vector<std::string>& lines, const std::string& text, std::size_t width) {
  if (get_display_width(text) <= width) return void(lines.push_back(text));
  const std::string all = wrap_words(text, width);
  for (const std::string_view line : split(all, '\n'))
    if (!line.empty()) lines.emplace_back(line);
}

void add_cpu(std::vector<std::string>& lines, const WindowFacts& window, std::size_t width) {
  const Accounting& cpu = *window.accounting;
  const std::string label = "cpu ", text = cpu_text(window);
  const std::size_t used_width = label.size() + 1 + get_display_width(text);
  if (used_width + kMinBar > width) return add_wrapped(lines, label + text, width);
  const double all = static_cast<double>(cpu.cpus) * cpu.wall;
  const std::array parts{BarPart{'#', cpu.living / all}, BarPart{'+', cpu.exited / all},
                         BarPart{'?', cpu.unaccounted / all}};
  lines.push_back(label + format_bar(parts, std::min(width - used_width, kMaxBar)) + " " + text);
}

// A part of the second line: text, a bar of this share if it fits, and a value.
struct HeadingPart {
  std::string before, after;
  double share;
  bool is_small;
};

std::vector<HeadingPart> memory_pieces(const RunFacts& run) {
  const HostLoad& load = run.window->load;
  std::vector<HeadingPart> pieces;
  const OptionalValue size = host_memory_bytes(run);
  if (size && load.memory_available) {
    const double used = std::max(*size - *load.memory_available, 0.0);
    pieces.push_back(
        {"mem ", format_fixed(used / 0x1p30, 1) + " of " + format_fixed(*size / 0x1p30, 1) + " GiB",
         used / *size, false});
  }
  const std::array<std::pair<const char*, OptionalValue>, kPressures> pressures{
      {{"cpu", load.cpu_pressure}, {"io", load.io_pressure}, {"mem", load.memory_pressure}}};
  const std::size_t memory_piece_count = pieces.size();
  for (const auto& [name, share] : pressures) {
    if (!share) continue;
    const bool is_first = pieces.size() == memory_piece_count;
    const std::string between = pieces.empty() ? "" : is_first ? "   " : " ";
    pieces.push_back({between + (is_first ? "pressure " : "") + name + " ",
                      format_short(100 * *share), *share, true});
  }
  if (pieces.size() > memory_piece_count) pieces.back().after += " %";
  return pieces;
}

void add_memory(std::vector<std::string>& lines, const RunFacts& run, std::size_t width) {
  const std::vector<HeadingPart> pieces = memory_pieces(run);
  if (pieces.empty()) return;
  std::size_t used_width = 0, small = 0;
  for (const HeadingPart& piece : pieces) {
    used_width += piece.before.size() + 1 + piece.after.size();
    small += piece.is_small;
  }
  const std::size_t large = pieces.size() - small;
  const std::size_t free_width = width - std::min(used_width, width);
  const bool has_bars = free_width >= large * kMinBar + small * kMinSmallBar;
  // The memory bar gets half of the free width, and never less than its minimum.
  const std::size_t width_for_small = free_width - std::min(free_width, large * kMinBar);
  const std::size_t small_width =
      small == 0 ? 0
                 : std::clamp(std::min(free_width / 2, width_for_small) / small, kMinSmallBar,
                              kMaxSmallBar);
  const std::size_t large_width =
      std::clamp(free_width - std::min(free_width, small * small_width), kMinBar, kMaxBar);
  std::string text;
  for (const HeadingPart& piece : pieces) {
    const BarPart part{'#', piece.share};
    text += piece.before;
    if (has_bars) text += format_bar({&part, 1}, piece.is_small ? small_width : large_width) + " ";
    text += piece.after;
  }
  add_wrapped(lines, text, width);
}

// "   load 9.6   iowait 12 %"
std::string load_text(const HostLoad& load) {
  constexpr double kMinShare = 0.0005;  // shown as 0.1 %
  std::string text;
  if (load.load) text += "   load " + format_short(*load.load);
  for (const auto& [name, share] :
       {std::pair("   iowait ", load.iowait), {"   throttled ", load.throttled}})
    if (share.value_or(0) >= kMinShare) text += name + format_short(100 * *share) + " %";
  return text;
}

}  // namespace

std::string format_bar(std::span<const BarPart> parts, std::size_t width) {
  std::string text;
  double sum = 0;
  for (const BarPart& part : parts) {
    if (!(part.share > 0)) continue;
    sum += part.share;
    const auto end = static_cast<std::size_t>(std::lround(std::min(sum, 1.0) * double(width)));
    text.resize(std::max(end, text.size()), part.symbol);
  }
  text.resize(width, '.');
  return text;
}

std::vector<std::string> heading_lines(const RunFacts& run, std::string_view time,
                                       std::size_t width) {
  std::vector<std::string> lines;
  add_wrapped(lines, format_window_line(run, time) + load_text(run.window->load), width);
  if (run.window->accounting) add_cpu(lines, *run.window, width);
  add_memory(lines, run, width);
  for (const std::string& remark : list_window_remarks(run)) add_wrapped(lines, remark, width);
  return lines;
}

}  // namespace ctprof::live
