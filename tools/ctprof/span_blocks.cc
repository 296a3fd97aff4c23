#include "tools/ctprof/span_blocks.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "core/archive/blocks.hpp"
#include "core/archive/span.hpp"
#include "core/archive/when.hpp"
#include "core/base/workers.hpp"
#include "core/file/layout/limits.hpp"
#include "core/window/laps.hpp"
#include "tools/ctprof/privileges.hpp"
#include "tools/ctprof/text.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

// Workers that read windows to see their figures; each holds one.
constexpr unsigned kSeriesReaders = 4;

bool is_span_side(const std::vector<Given>& side) {
  return side.size() == 1 && side.front().form == Form::Span;
}

// "good.ctprof.zst: 240 windows in 8 blocks of 2 min 30 s, each a run"
std::string in_blocks(const std::string& name, const WindowSeries& side, std::size_t blocks) {
  return name + ": " + count(side.size(), "window") + " in " + std::to_string(blocks) +
         " blocks of " + how_long(side.window_ns() * side.size() / blocks) + ", each a run";
}

std::string what_p_means(const BlockPlan& plan) {
  return "windows resemble those before them for " +
         how_long(static_cast<std::uint64_t>(plan.autocorrelation_ns)) +
         "; p tests whether these spans differ, not why";
}

// The figures of each window, in their order; a window that cannot be read has none.
Result<WindowSeries> series_of(const SpanWindows& windows, const Vocabulary& vocabulary) {
  std::vector<std::optional<WindowFigures>> figures(windows.size());
  const unsigned workers = std::min(kSeriesReaders, spare_workers());
  share(workers, windows.size(), [&](unsigned, std::size_t number) {
    if (auto window = windows.read(number, vocabulary)) figures[number] = figures_of(*window);
  });
  WindowSeries series;
  for (std::size_t number = 0; number < figures.size(); ++number)
    if (figures[number]) series.add(number, std::move(*figures[number]));
  return series;
}

using ReadWindow = std::function<Result<Snapshot>(std::size_t)>;

// The error says so if exited threads take too much memory.
Result<Runs> runs_of(std::span<const WindowRange> blocks, const ReadWindow& read,
                     const std::string& name) {
  Runs runs;
  std::size_t memory = 0;
  for (const WindowRange& block : blocks) {
    auto run = joined(block, read);
    if (!run) return run.error();
    memory += memory_of_exited(*run);
    if (memory > limits::kMemory)
      return error("reading", name,
                   "the threads that exited take too much memory; select a shorter span");
    runs.push_back(std::move(*run));
  }
  return runs;
}

struct SpanRead {
  SpanWindows windows;
  WindowSeries series;
};

Result<std::vector<SpanRead>> read_series(const std::vector<std::vector<Given>>& sides,
                                          const Vocabulary& vocabulary) {
  std::vector<SpanRead> all;
  for (const auto& side : sides) {
    auto windows = SpanWindows::find(side.front().text, side.front().span);
    if (!windows) return windows.error();
    auto series = series_of(*windows, vocabulary);
    if (!series) return series.error();
    all.push_back({std::move(*windows), std::move(*series)});
  }
  return all;
}

std::string name_of(const Given& given, const Runs& runs) {
  return given.text + ", " + local_time(runs.front().window->opened.wall_unix_ns) + " to " +
         local_time(runs.back().meta.start.wall_unix_ns);
}

Result<LoadedSide> side_in_blocks(const Given& given, const SpanRead& span,
                                  std::span<const WindowRange> blocks,
                                  const Vocabulary& vocabulary) {
  auto runs = runs_of(
      blocks, [&](std::size_t number) { return span.windows.read(number, vocabulary); },
      given.text);
  if (!runs) return runs.error();
  std::vector<std::string>& told = runs->front().told;
  std::ranges::copy(span.windows.told(), std::back_inserter(told));
  told.push_back(in_blocks(given.text, span.series, blocks.size()));
  LoadedSide side;
  Loaded& one = side.emplace_back(Loaded{given, {}});
  one.given.text = name_of(given, *runs);
  one.files.push_back(std::move(*runs));
  return side;
}

Result<std::optional<std::vector<LoadedSide>>> spans_in_blocks(
    const std::vector<std::vector<Given>>& sides, const Vocabulary& vocabulary,
    const Options& options) {
  auto all = read_series(sides, vocabulary);
  if (!all) return all.error();
  std::vector<WindowSeries> series;
  for (const SpanRead& span : *all) series.push_back(span.series);
  const BlockPlan plan = plan_blocks(series);
  if (!plan.why_none.empty()) {
    note(options, plan.why_none);
    return std::optional<std::vector<LoadedSide>>();
  }
  std::vector<LoadedSide> loaded;
  for (std::size_t at = 0; at < sides.size(); ++at) {
    auto side = side_in_blocks(sides[at].front(), (*all)[at], plan.sides[at], vocabulary);
    if (!side) return side.error();
    loaded.push_back(std::move(*side));
  }
  note(options, what_p_means(plan));
  return std::optional(std::move(loaded));
}

}  // namespace

bool are_back_to_back(const LoadedSide& side) {
  if (side.size() != 1 || side.front().given.form != Form::File) return false;
  const Runs& runs = side.front().files.front();
  for (std::size_t run = 1; run < runs.size(); ++run)
    if (!follows(runs[run], runs[run - 1])) return false;
  return runs.size() > 1;
}

Result<std::optional<std::vector<LoadedSide>>> load_blocks(
    const std::vector<std::vector<Given>>& sides, const Vocabulary& vocabulary,
    const Options& options) {
  std::optional<std::vector<LoadedSide>> loaded;
  if (sides.size() < 2 || !std::ranges::all_of(sides, &is_span_side)) return loaded;
  const auto read = without_privileges([&]() -> Result<void> {
    auto found = spans_in_blocks(sides, vocabulary, options);
    if (!found) return found.error();
    loaded = std::move(*found);
    return {};
  });
  if (!read) return read.error();
  return loaded;
}

Result<void> split_into_blocks(std::vector<LoadedSide>& sides, const Options& options) {
  if (sides.size() < 2 || !std::ranges::all_of(sides, &are_back_to_back)) return {};
  std::vector<WindowSeries> series(sides.size());
  for (std::size_t at = 0; at < sides.size(); ++at) {
    const Runs& runs = sides[at].front().files.front();
    for (std::size_t run = 0; run < runs.size(); ++run) series[at].add(run, figures_of(runs[run]));
  }
  const BlockPlan plan = plan_blocks(series);
  if (!plan.why_none.empty()) note(options, plan.why_none);
  for (std::size_t at = 0; at < sides.size(); ++at) {
    Loaded& side = sides[at].front();
    Runs& windows = side.files.front();
    const std::vector<WindowRange> whole{{0, windows.size()}};
    const auto& blocks = plan.sides.empty() ? whole : plan.sides[at];
    const auto take = [&](std::size_t run) -> Result<Snapshot> { return std::move(windows[run]); };
    auto runs = runs_of(blocks, take, side.given.text);
    if (!runs) return runs.error();
    if (!plan.sides.empty())
      runs->front().told.push_back(in_blocks(side.given.text, series[at], blocks.size()));
    windows = std::move(*runs);
  }
  if (!plan.sides.empty()) note(options, what_p_means(plan));
  return {};
}

}  // namespace ctprof::cli
