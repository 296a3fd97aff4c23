#include "tools/ctprof/live/heading.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "core/base/text.hpp"
#include "core/render/terminal_text.hpp"
#include "core/render/window_text.hpp"

namespace ctprof::live {
namespace {

// Shorter bars are too coarse to read; longer ones take space from the text.
constexpr std::size_t kLeastBar = 8, kMostBar = 40;
constexpr std::size_t kLeastSmallBar = 4, kMostSmallBar = 10;
constexpr std::size_t kPressures = 3;

using Figure = std::optional<double>;

// "7.3", "12", "0"
std::string short_figure(double figure) {
  char text[32];
  const double shown = std::round(figure * 10) / 10;
  std::snprintf(text, sizeof text, shown > 0 && shown < 10 ? "%.1f" : "%.0f", shown + 0.0);
  return text;
}

std::string percent_of_cpu(double ns, const Accounting& of) {
  return std::to_string(std::llround(100 * ns / of.wall));
}

// "130 of 200 %: living 90, exited 30, unaccounted 10 (±2)"
std::string cpu_text(const WindowFacts& window) {
  const Accounting& cpu = *window.accounting;
  const auto part = [&](const char* name, double ns) {
    return std::string(name) + " " + percent_of_cpu(ns, cpu);
  };
  std::string text = percent_of_cpu(cpu.busy, cpu) + " of " + std::to_string(100 * cpu.cpus) +
                     " %: " + part("living", cpu.living);
  if (window.sees_ends) text += ", " + part("exited", cpu.ended);
  text += ", " + part(window.partial ? "others or unaccounted" : "unaccounted", cpu.unexplained) +
          " (±" + percent_of_cpu(cpu.error, cpu) + ")";
  constexpr double kLeastShare = 0.005;  // of a CPU
  if (cpu.steal >= kLeastShare * cpu.wall) text += ", " + part("stolen", cpu.steal);
  if (cpu.interrupts >= kLeastShare * cpu.wall) text += ", " + part("interrupts", cpu.interrupts);
  return text;
}

void add_wrapped(std::vector<std::string>& lines, const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return void(lines.push_back(text));
  const std::string all = wrapped(text, width);
  for (const std::string_view line : split(all, '\n'))
    if (!line.empty()) lines.emplace_back(line);
}

void add_cpu(std::vector<std::string>& lines, const WindowFacts& window, std::size_t width) {
  const Accounting& cpu = *window.accounting;
  const std::string label = "cpu ", text = cpu_text(window);
  const std::size_t taken = label.size() + 1 + display_width(text);
  if (taken + kLeastBar > width) return add_wrapped(lines, label + text, width);
  const double all = static_cast<double>(cpu.cpus) * cpu.wall;
  const std::array parts{BarPart{'#', cpu.living / all}, BarPart{'+', cpu.ended / all},
                         BarPart{'?', cpu.unexplained / all}};
  lines.push_back(label + bar(parts, std::min(width - taken, kMostBar)) + " " + text);
}

// A part of the second line: text, a bar of this share if it fits, and a value.
struct Piece {
  std::string before, after;
  double share;
  bool is_small;
};

std::vector<Piece> memory_pieces(const RunFacts& run) {
  const HostLoad& load = run.window->load;
  std::vector<Piece> pieces;
  const Figure size = memory_of_host(run);
  if (size && load.memory_available) {
    const double used = std::max(*size - *load.memory_available, 0.0);
    char text[64];
    std::snprintf(text, sizeof text, "%.1f of %.1f GiB", used / 0x1p30, *size / 0x1p30);
    pieces.push_back({"mem ", text, used / *size, false});
  }
  const std::array<std::pair<const char*, Figure>, kPressures> pressures{
      {{"cpu", load.cpu_pressure}, {"io", load.io_pressure}, {"mem", load.memory_pressure}}};
  const std::size_t of_memory = pieces.size();
  for (const auto& [name, share] : pressures) {
    if (!share) continue;
    const bool is_first = pieces.size() == of_memory;
    const std::string between = pieces.empty() ? "" : is_first ? "   " : " ";
    pieces.push_back({between + (is_first ? "pressure " : "") + name + " ",
                      short_figure(100 * *share), *share, true});
  }
  if (pieces.size() > of_memory) pieces.back().after += " %";
  return pieces;
}

void add_memory(std::vector<std::string>& lines, const RunFacts& run, std::size_t width) {
  const std::vector<Piece> pieces = memory_pieces(run);
  if (pieces.empty()) return;
  std::size_t taken = 0, small = 0;
  for (const Piece& piece : pieces) {
    taken += piece.before.size() + 1 + piece.after.size();
    small += piece.is_small;
  }
  const std::size_t large = pieces.size() - small;
  const std::size_t free = width - std::min(taken, width);
  const bool has_bars = free >= large * kLeastBar + small * kLeastSmallBar;
  // The memory bar gets half of the free width, and never less than its minimum.
  const std::size_t for_small = free - std::min(free, large * kLeastBar);
  const std::size_t of_small =
      small == 0 ? 0
                 : std::clamp(std::min(free / 2, for_small) / small, kLeastSmallBar, kMostSmallBar);
  const std::size_t of_large =
      std::clamp(free - std::min(free, small * of_small), kLeastBar, kMostBar);
  std::string text;
  for (const Piece& piece : pieces) {
    const BarPart part{'#', piece.share};
    text += piece.before;
    if (has_bars) text += bar({&part, 1}, piece.is_small ? of_small : of_large) + " ";
    text += piece.after;
  }
  add_wrapped(lines, text, width);
}

// "   load 9.6   iowait 12 %"
std::string load_text(const HostLoad& load) {
  constexpr double kLeastShare = 0.0005;  // shown as 0.1 %
  std::string text;
  if (load.load) text += "   load " + short_figure(*load.load);
  for (const auto& [name, share] :
       {std::pair("   iowait ", load.iowait), {"   throttled ", load.throttled}})
    if (share.value_or(0) >= kLeastShare) text += name + short_figure(100 * *share) + " %";
  return text;
}

}  // namespace

std::string bar(std::span<const BarPart> parts, std::size_t width) {
  std::string text;
  double sum = 0;
  for (const BarPart& part : parts) {
    if (!(part.share > 0)) continue;
    sum += part.share;
    const auto end = static_cast<std::size_t>(std::lround(std::min(sum, 1.0) * double(width)));
    text.resize(std::max(end, text.size()), part.sign);
  }
  text.resize(width, '.');
  return text;
}

std::vector<std::string> heading_lines(const RunFacts& run, std::string_view time,
                                       std::size_t width) {
  std::vector<std::string> lines;
  add_wrapped(lines, window_line(run, time) + load_text(run.window->load), width);
  if (run.window->accounting) add_cpu(lines, *run.window, width);
  add_memory(lines, run, width);
  for (const std::string& remark : window_remarks(run)) add_wrapped(lines, remark, width);
  return lines;
}

}  // namespace ctprof::live
