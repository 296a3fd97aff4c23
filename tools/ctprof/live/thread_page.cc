#include "tools/ctprof/live/thread_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/cpu_ranges.hpp"
#include "core/base/number.hpp"
#include "core/compare/figures/common_stacks.hpp"
#include "core/registry/identity.hpp"
#include "core/render/stacks_text.hpp"
#include "core/render/terminal_text.hpp"
#include "core/rules/histograms.hpp"
#include "core/window/differences.hpp"

namespace ctprof::live {
namespace {

constexpr std::size_t kMaxValueBytes = 200;  // bytes of a text, map or array
constexpr std::size_t kMaxStacks = 12;       // per metric and window
constexpr std::size_t kMaxStackTextBytes = 400;

template <class Number>
ThreadFigure number_figure(Number value, const MetricDef& def) {
  ThreadFigure figure;
  figure.number = static_cast<double>(value);
  figure.value = format_scaled(make_number(value), def.unit);
  return figure;
}

std::string format_entries(const Pools& pools, std::span<const ctprof_entry> entries) {
  std::string text;
  for (const ctprof_entry& entry : entries) {
    if (text.size() > kMaxValueBytes) return text + " …";
    text += (text.empty() ? "" : " ") + make_printable_short({entry.key.data, entry.key.size}, 64) +
            "=" + std::to_string(entry.value);
  }
  return pools.bytes() && text.empty() ? "-" : text;
}

std::string format_words(std::span<const std::uint64_t> words) {
  std::string text;
  for (const std::uint64_t word : words) {
    if (text.size() > kMaxValueBytes) return text + " …";
    text += (text.empty() ? "" : " ") + std::to_string(word);
  }
  return text;
}

std::string format_histogram(std::span<const std::uint64_t> buckets, std::string_view unit) {
  std::string text;
  for (const rules::HistogramPart& part : rules::histogram_parts(buckets))
    if (has_value(part.number))
      text += (text.empty() ? "" : " ") + std::string(part.name) + "=" +
              format_scaled(part.number, part.name == "count" ? "count" : unit);
  return text;
}

std::string format_array(const MetricDef& def, std::span<const std::uint64_t> words) {
  return is_histogram(def) ? format_histogram(words, def.unit) : format_words(words);
}

ThreadFigure text_figure(std::string text) {
  ThreadFigure figure;
  figure.number = kNaN;
  figure.value = std::move(text);
  return figure;
}

// REQUIRES: the cell has a value.
ThreadFigure make_figure(const Snapshot& window, const Column& column, std::uint32_t row) {
  const Pools& pools = *window.pools;
  switch (column.def().storage) {
    case Storage::U64: return number_figure(column.u64()[row], column.def());
    case Storage::I64: return number_figure(column.i64()[row], column.def());
    case Storage::F64: return number_figure(column.f64()[row], column.def());
    case Storage::Bool: return text_figure(column.bools()[row] ? "yes" : "no");
    case Storage::String:
      return text_figure(make_printable_short(pools.texts[column.ids()[row]], kMaxValueBytes));
    case Storage::Bitset: return text_figure(format_cpu_ranges(pools.words[column.ids()[row]]));
    case Storage::Array:
      return text_figure(format_array(column.def(), pools.words[column.ids()[row]]));
    case Storage::Map: return text_figure(format_entries(pools, pools.maps[column.ids()[row]]));
    case Storage::Stacks: {
      const double total = static_cast<double>(total_weight(pools.stacks[column.ids()[row]]));
      return number_figure(total, column.def());
    }
  }
  return text_figure("-");
}

}  // namespace

void ThreadPage::add_stacks(Point& point, const Snapshot& window, const Column& column,
                            std::uint32_t row) {
  CommonStacks common;
  const std::vector<std::uint32_t> numbers = common.add(window.pools->stacks.table);
  std::vector<Stack>& stacks = point.stacks[column.def().name];
  stacks.clear();
  const auto cells = window.pools->stacks[column.ids()[row]];
  std::vector<ctprof_stack> heaviest(cells.begin(), cells.end());
  const std::size_t kept_stacks = std::min(heaviest.size(), kMaxStacks);
  std::ranges::partial_sort(
      heaviest, heaviest.begin() + static_cast<std::ptrdiff_t>(kept_stacks),
      [](const ctprof_stack& a, const ctprof_stack& b) { return a.weight > b.weight; });
  heaviest.resize(kept_stacks);
  for (const ctprof_stack& stack : heaviest)
    stacks.push_back({format_scaled(make_number(stack.weight), column.def().unit) + "  " +
                          format_stack(common, numbers[stack.stack], kMaxStackTextBytes),
                      static_cast<double>(stack.weight)});
}

void ThreadPage::add_row(Point& point, const Snapshot& window, Entity entity, std::uint32_t row) {
  for (const Column& column : window.table(entity).columns) {
    const MetricDef& def = column.def();
    if (def.is_hidden) continue;
    ThreadFigure figure;
    if (column.has_value(row)) {
      figure = make_figure(window, column, row);
    } else {
      figure = text_figure("- (" + std::string(name(column.gap(row))) + ")");
      if (const auto known = point.figures.find(def.name); known != point.figures.end()) continue;
    }
    figure.is_known = column.has_value(row);
    figure.is_headline = def.headline.has_value();
    figure.metric = def.name;
    figure.description = def.description;
    figure.is_of_process = entity == Entity::Process;
    if (def.storage == Storage::Stacks && column.has_value(row))
      add_stacks(point, window, column, row);
    point.figures[def.name] = std::move(figure);
  }
}

void ThreadPage::add_window(std::uint64_t number, const Snapshot& window) {
  points_.try_emplace(number);
  while (points_.size() > kMaxPoints) {
    const bool is_old = number != points_.begin()->first;
    points_.erase(is_old ? points_.begin() : std::prev(points_.end()));
  }
  Point& point = points_[number];
  const auto row = find_row(window, thread_);
  if (!row) return;
  add_row(point, window, Entity::Thread, *row);
  const Table& processes = window.table(Entity::Process);
  const Column* tgids = processes.find(kProcessTgid);
  for (std::uint32_t process = 0; tgids && process < processes.rows; ++process)
    if (tgids->has_value(process) && tgids->u64()[process] == thread_.tgid)
      add_row(point, window, Entity::Process, process);
}

std::vector<ThreadFigure> ThreadPage::figures(std::uint64_t number) const {
  std::vector<ThreadFigure> found;
  const auto point = points_.find(number);
  if (point == points_.end()) return found;
  for (const auto& [metric, figure] : point->second.figures) found.push_back(figure);
  std::ranges::stable_sort(found, {}, [](const ThreadFigure& figure) {
    return std::tuple(!figure.is_known, !figure.is_headline, figure.is_of_process);
  });
  return found;
}

std::vector<std::string> ThreadPage::stacks(std::uint64_t number, std::size_t width) const {
  std::vector<std::string> lines;
  const auto point = points_.find(number);
  if (point == points_.end()) return lines;
  for (const auto& [metric, stacks] : point->second.stacks) {
    lines.push_back("stacks of " + make_printable_short(metric) + ":");
    for (const Stack& stack : stacks) lines.push_back("  " + shorten(stack.text, width - 2));
  }
  return lines;
}

std::string ThreadPage::history(const std::string& metric, std::uint64_t number,
                                std::size_t windows) const {
  std::vector<double> numbers;
  for (std::uint64_t back = windows; back-- > 0;) {
    numbers.push_back(kNaN);
    const auto point = back < number ? points_.find(number - back) : points_.end();
    if (point == points_.end()) continue;
    const auto figure = point->second.figures.find(metric);
    if (figure != point->second.figures.end()) numbers.back() = figure->second.number;
  }
  return sparkline(numbers);
}

std::string sparkline(std::span<const double> numbers) {
  constexpr std::array<const char*, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double highest = 0;
  for (const double number : numbers)
    if (number > highest) highest = number;
  std::string line;
  for (const double number : numbers) {
    if (std::isnan(number)) {
      line += ' ';
      continue;
    }
    const double part = highest > 0 ? std::max(number, 0.0) / highest : 0;
    line += kBars[static_cast<std::size_t>(std::lround(part * (kBars.size() - 1)))];
  }
  return line;
}

}  // namespace ctprof::live
