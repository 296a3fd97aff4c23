#include "tools/ctprof/inputs/span_blocks.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "core/archive/blocks.hpp"
#include "core/archive/span.hpp"
#include "core/archive/time_text.hpp"
#include "core/base/workers.hpp"
#include "core/file/layout/limits.hpp"
#include "core/window/join_windows.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// Worker threads that read windows for their figures. Each holds one window in memory.
constexpr unsigned kSeriesReaders = 4;
constexpr std::size_t kFiguresPerBatch = 256;

constexpr const char* kPValueNote = "p tests whether these spans differ, not why";

bool is_span_side(const std::vector<CaptureArgument>& side) {
  return side.size() == 1 && side.front().form == ArgumentForm::Span;
}

struct SpanRead {
  SpanWindows windows;
  std::vector<std::string> remarks;  // about windows that cannot be read
};

// Returns the figures of each window in order. A window that cannot be read leaves a gap.
Result<WindowSeries> read_series(SpanRead& span, const Vocabulary& vocabulary) {
  WindowSeries series;
  std::size_t unreadable_windows = 0;
  const unsigned workers = std::min(kSeriesReaders, count_spare_workers());
  for (std::size_t first = 0; first < span.windows.size(); first += kFiguresPerBatch) {
    std::vector<std::optional<WindowRates>> figures(
        std::min(kFiguresPerBatch, span.windows.size() - first));
    share_work(workers, figures.size(), [&](unsigned, std::size_t at) {
      if (auto window = span.windows.read(first + at, vocabulary)) figures[at] = rates_of(*window);
    });
    for (std::size_t at = 0; at < figures.size(); ++at)
      figures[at] ? series.add(first + at, *figures[at]) : static_cast<void>(++unreadable_windows);
  }
  if (unreadable_windows > 0)
    span.remarks.push_back(format_count(unreadable_windows, "window") + " left out: unreadable");
  return series;
}

using ReadWindow = std::function<Result<Snapshot>(std::size_t)>;

// Builds one run per block. Fails if the exited threads need too much memory.
Result<Runs> make_runs(std::span<const WindowRange> blocks, const ReadWindow& read,
                       const std::string& name, SpanPart part) {
  std::size_t memory = 0;
  const auto read_within = [&](std::size_t number) -> Result<Snapshot> {
    auto window = read(number);
    if (window) memory += memory_of_exited(*window);
    if (memory > limits::kMemory)
      return error("reading", name,
                   "the threads that exited take too much memory; select a shorter span");
    return window;
  };
  Runs runs;
  for (const WindowRange& block : blocks) {
    CTPROF_TRY_VALUE(auto run, join_block(block, read_within));
    run.meta.span_part = part;
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string describe_span_side(const CaptureArgument& argument, const Runs& runs) {
  return argument.text + ", " + format_local_time(runs.front().window->opened_at.wall_unix_ns) +
         " to " + format_local_time(runs.back().meta.start.wall_unix_ns);
}

Result<LoadedSide> make_side_of_blocks(const CaptureArgument& argument, const SpanRead& span,
                                       std::span<const WindowRange> blocks,
                                       const std::string& remark, const Vocabulary& vocabulary) {
  CTPROF_TRY_VALUE(
      auto runs,
      make_runs(
          blocks, [&](std::size_t number) { return span.windows.read(number, vocabulary); },
          argument.text, SpanPart::Block));
  std::vector<std::string>& notes = runs.front().load_messages;
  std::ranges::copy(span.windows.messages(), std::back_inserter(notes));
  std::ranges::copy(span.remarks, std::back_inserter(notes));
  notes.push_back(argument.text + ": " + remark);
  LoadedSide side;
  LoadedArgument& loaded_argument = side.emplace_back(LoadedArgument{argument, {}});
  loaded_argument.argument.text = describe_span_side(argument, runs);
  loaded_argument.files.push_back(std::move(runs));
  return side;
}

Result<std::optional<std::vector<LoadedSide>>> load_spans_in_blocks(
    const std::vector<std::vector<CaptureArgument>>& sides, const Vocabulary& vocabulary,
    const CommonOptions& options) {
  std::vector<SpanRead> spans;
  std::vector<WindowSeries> series;
  for (const auto& side : sides) {
    CTPROF_TRY_VALUE(auto windows, SpanWindows::find(side.front().text, side.front().span));
    spans.push_back({std::move(windows), {}});
    CTPROF_TRY_VALUE(auto read, read_series(spans.back(), vocabulary));
    series.push_back(std::move(read));
  }
  const BlockPlan plan = plan_blocks(series);
  print_note(options, plan.sides.empty() ? plan.reason_for_none : kPValueNote);
  std::optional<std::vector<LoadedSide>> loaded;
  if (plan.sides.empty()) return loaded;
  loaded.emplace();
  for (std::size_t at = 0; at < sides.size(); ++at) {
    CTPROF_TRY_VALUE(auto side, make_side_of_blocks(sides[at].front(), spans[at], plan.sides[at],
                                                    plan.messages[at], vocabulary));
    loaded->push_back(std::move(side));
  }
  return loaded;
}

// Moves all windows out of the side, in the order of its arguments.
Runs take_windows(LoadedSide& side) {
  Runs windows;
  for (LoadedArgument& argument : side)
    for (Runs& runs : argument.files) std::ranges::move(runs, std::back_inserter(windows));
  for (LoadedArgument& argument : side)
    for (Runs& runs : argument.files) runs.clear();
  return windows;
}

}  // namespace

bool has_consecutive_windows(const LoadedSide& side) {
  bool any_follow = false;
  for (const LoadedArgument& argument : side) {
    if (argument.argument.form != ArgumentForm::File) return false;
    const Runs& runs = argument.files.front();
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (!runs[run].window) return false;
      any_follow = any_follow || (run > 0 && follows(runs[run], runs[run - 1]));
    }
  }
  return any_follow;
}

bool is_one_span(const LoadedSide& side) {
  if (side.size() != 1 || side.front().argument.form != ArgumentForm::File) return false;
  const Runs& runs = side.front().files.front();
  for (std::size_t run = 1; run < runs.size(); ++run)
    if (!follows(runs[run], runs[run - 1])) return false;
  return runs.size() > 1;
}

bool compares_spans(const std::vector<std::vector<CaptureArgument>>& sides) {
  const auto has_span = [](const std::vector<CaptureArgument>& side) {
    return std::ranges::any_of(
        side, [](const CaptureArgument& argument) { return argument.form == ArgumentForm::Span; });
  };
  return sides.size() > 1 && std::ranges::any_of(sides, has_span);
}

Result<std::optional<std::vector<LoadedSide>>> load_blocks(
    const std::vector<std::vector<CaptureArgument>>& sides, const Vocabulary& vocabulary,
    const CommonOptions& options) {
  std::optional<std::vector<LoadedSide>> loaded;
  if (!std::ranges::all_of(sides, &is_span_side)) {
    print_note(options,
               "differences are not tested for significance, because not all sides are spans of "
               "directories");
    return loaded;
  }
  CTPROF_TRY(without_privileges([&]() -> Result<void> {
    auto found = load_spans_in_blocks(sides, vocabulary, options);
    if (!found) return found.error();
    loaded = std::move(*found);
    return {};
  }));
  return loaded;
}

Result<void> split_into_blocks(std::vector<LoadedSide>& sides, const CommonOptions& options) {
  if (sides.size() < 2 || !std::ranges::all_of(sides, &has_consecutive_windows)) return {};
  std::vector<WindowSeries> series(sides.size());
  for (std::size_t at = 0; at < sides.size(); ++at) {
    std::size_t number = 0;
    for (const LoadedArgument& argument : sides[at])
      for (const Snapshot& window : argument.files.front())
        series[at].add(number++, rates_of(window));
  }
  const BlockPlan plan = plan_blocks(series);
  print_note(options, plan.sides.empty() ? plan.reason_for_none : kPValueNote);
  const SpanPart part = plan.sides.empty() ? SpanPart::Untested : SpanPart::Block;
  for (std::size_t at = 0; at < sides.size(); ++at) {
    Runs windows = take_windows(sides[at]);
    const auto& blocks = plan.sides.empty() ? series[at].contiguous_ranges() : plan.sides[at];
    const std::string& name = sides[at].front().argument.text;
    const auto take = [&](std::size_t run) -> Result<Snapshot> { return std::move(windows[run]); };
    CTPROF_TRY_VALUE(auto runs, make_runs(blocks, take, name, part));
    if (!plan.sides.empty()) runs.front().load_messages.push_back(name + ": " + plan.messages[at]);
    sides[at].front().files.front() = std::move(runs);
  }
  return {};
}

void mark_untested(std::vector<LoadedSide>& sides) {
  for (LoadedSide& side : sides)
    for (LoadedArgument& argument : side)
      for (Runs& runs : argument.files)
        for (Snapshot& run : runs) run.meta.span_part = SpanPart::Untested;
}

}  // namespace ctprof::cli
