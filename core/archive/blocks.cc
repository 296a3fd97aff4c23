#include "core/archive/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/archive/when.hpp"
#include "core/registry/identity.hpp"
#include "core/statistics/autocorrelation.hpp"
#include "core/window/happened.hpp"
#include "core/window/laps.hpp"

namespace ctprof {
namespace {

// Blocks of so many autocorrelation times are nearly independent.
constexpr double kTimesInBlock = 5;
// A program's figures count if it has so large a share of a metric.
constexpr double kLeastShare = 0.05;

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

std::uint64_t length_of(const WindowFigures& window) {
  return window.ended.boottime_ns - std::min(window.opened.boottime_ns, window.ended.boottime_ns);
}

bool follows(const WindowFigures& next, const WindowFigures& window) {
  return !next.boot_id.empty() && next.boot_id == window.boot_id &&
         next.opened.boottime_ns == window.ended.boottime_ns;
}

// The programs of all rows, by id of their text.
const Column* programs_of(const Table& threads) {
  const Column* column = threads.find(kPcomm);
  return column && column->def().storage == Storage::String ? column : nullptr;
}

// What the row counted inside the window; none where its base is not known.
std::optional<std::uint64_t> counted(const Column& column, const Opening& opening,
                                     const Column* base, std::size_t row) {
  if (!column.has_value(row)) return std::nullopt;
  const std::uint64_t end = column.u64()[row];
  if (row < opening.born.size() && opening.born[row] != 0) return end;
  if (!base || !base->has_value(row) || base->u64()[row] > end) return std::nullopt;
  return end - base->u64()[row];
}

void add_rates(const Snapshot& window, const Column& column, double length_s, WindowFigures& out) {
  const Opening& opening = window.window->openings[static_cast<std::size_t>(Entity::Thread)];
  const Column* base = opening.find(column.def().name);
  const Column* programs = programs_of(window.threads());
  std::map<Id, double> sums;
  double sum = 0;
  for (std::size_t row = 0; row < column.rows(); ++row) {
    const auto number = counted(column, opening, base, row);
    if (!number || *number == 0) continue;
    const double rate = static_cast<double>(*number) / length_s;
    sum += rate;
    if (programs && programs->has_value(row)) sums[programs->ids()[row]] += rate;
  }
  const std::string& metric = column.def().name;
  out.rates[{metric, ""}] = sum;
  for (const auto& [id, rate] : sums)
    out.rates[{metric, std::string(window.pools->texts[id])}] += rate;
}

// Blocks of a piece, as equal as can be, of at least that many windows.
void add_blocks(const WindowRange& piece, std::size_t windows, std::vector<WindowRange>& blocks) {
  const std::size_t count = piece.count / windows;
  std::size_t first = piece.first;
  for (std::size_t block = 0; block < count; ++block) {
    const std::size_t size = piece.count / count + (block < piece.count % count ? 1 : 0);
    blocks.push_back({first, size});
    first += size;
  }
}

std::string too_few_blocks(std::size_t blocks, const WindowSeries& side, double block_ns) {
  return "too few to test: windows resemble those before them, so that " +
         std::to_string(side.size()) + " windows count as " + std::to_string(blocks) +
         (blocks == 1 ? " independent block of " : " independent blocks of ") +
         how_long(static_cast<std::uint64_t>(block_ns)) + "; each side needs " +
         std::to_string(kLeastBlocks);
}

}  // namespace

WindowFigures figures_of(const Snapshot& window) {
  WindowFigures figures{window.window->opened, window.meta.start, window.meta.boot_id, {}};
  const double length_s = seconds(std::max<std::uint64_t>(length_of(figures), 1));
  for (const Column& column : window.threads().columns)
    if (column.def().headline && column.def().storage == Storage::U64 && counts_up(column.def()))
      add_rates(window, column, length_s, figures);
  return figures;
}

void WindowSeries::add(std::size_t number, WindowFigures figures) {
  windows_.emplace_back(number, std::move(figures));
}

std::uint64_t WindowSeries::window_ns() const {
  std::uint64_t sum = 0;
  for (const auto& [number, window] : windows_) sum += length_of(window);
  return windows_.empty() ? 0 : sum / windows_.size();
}

std::vector<WindowRange> WindowSeries::pieces() const {
  std::vector<WindowRange> pieces;
  for (std::size_t at = 0; at < windows_.size(); ++at) {
    const auto& [number, window] = windows_[at];
    const bool goes_on =
        at > 0 && number == windows_[at - 1].first + 1 && follows(window, windows_[at - 1].second);
    if (!goes_on) pieces.push_back({number, 0});
    ++pieces.back().count;
  }
  return pieces;
}

// Those of all threads, and of programs that have a share of them that matters and that ran in at
// least every other window: what a program of a moment did is in one block or two, whose rows
// cannot be significant (core/statistics/eligible.hpp).
std::vector<std::vector<double>> WindowSeries::series() const {
  std::map<std::pair<std::string, std::string>, double> sums;
  for (const auto& [number, window] : windows_)
    for (const auto& [key, rate] : window.rates) sums[key] += rate;
  std::vector<std::vector<double>> series;
  for (const auto& [key, sum] : sums) {
    if (!(sum > 0) || sum < kLeastShare * sums[{key.first, ""}]) continue;
    std::vector<double>& one = series.emplace_back();
    for (const auto& [number, window] : windows_) {
      const auto found = window.rates.find(key);
      one.push_back(found == window.rates.end() ? 0 : found->second);
    }
    const auto idle = static_cast<std::size_t>(std::ranges::count(one, 0.0));
    if (2 * idle > one.size()) series.pop_back();
  }
  return series;
}

double WindowSeries::autocorrelation_ns() const {
  return statistics::shared_autocorrelation_time(series()) * static_cast<double>(window_ns());
}

BlockPlan plan_blocks(std::span<const WindowSeries> sides) {
  BlockPlan plan;
  double longest_ns = 0;
  for (const WindowSeries& side : sides) {
    if (side.size() < kLeastWindows) {
      plan.why_none = "too few to test: " + std::to_string(side.size()) +
                      " windows on one side; at least " + std::to_string(kLeastWindows) +
                      " are needed";
      return plan;
    }
    plan.autocorrelation_ns = std::max(plan.autocorrelation_ns, side.autocorrelation_ns());
    longest_ns = std::max(longest_ns,
                          static_cast<double>(side.window_ns()) * static_cast<double>(side.size()));
  }
  const double block_ns =
      std::max(kTimesInBlock * plan.autocorrelation_ns, longest_ns / kMostBlocks);
  for (const WindowSeries& side : sides) {
    const double windows = std::ceil(block_ns / static_cast<double>(side.window_ns()) - 1e-3);
    std::vector<WindowRange>& blocks = plan.sides.emplace_back();
    for (const WindowRange& piece : side.pieces())
      add_blocks(piece, static_cast<std::size_t>(std::max(windows, 1.0)), blocks);
    if (blocks.size() >= kLeastBlocks) continue;
    plan.why_none = too_few_blocks(blocks.size(), side, block_ns);
    plan.sides.clear();
    return plan;
  }
  return plan;
}

Result<Snapshot> joined(const WindowRange& block,
                        const std::function<Result<Snapshot>(std::size_t)>& read) {
  auto first = read(block.first);
  if (!first || block.count == 1) return first;
  Moment ended = first->meta.start;
  const std::string boot_id = first->meta.boot_id;
  Laps laps(std::move(*first));
  for (std::size_t at = 1; at < block.count; ++at) {
    auto next = read(block.first + at);
    if (!next) return next;
    if (next->meta.boot_id != boot_id || next->window->opened.boottime_ns != ended.boottime_ns)
      return Error{"the windows changed while they were read"};
    ended = next->meta.start;
    laps.add(std::move(*next));
  }
  return std::move(laps).join();
}

}  // namespace ctprof
