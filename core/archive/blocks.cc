#include "core/archive/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/archive/time_text.hpp"
#include "core/registry/identity.hpp"
#include "core/statistics/autocorrelation.hpp"
#include "core/window/differences.hpp"
#include "core/window/join_windows.hpp"

namespace ctprof {
namespace {

// Autocorrelation times per block that make blocks nearly independent.
constexpr double kAutocorrelationTimesPerBlock = 5;
// Smallest share of a metric with which a program counts, and smallest share of a window with which
// its values are kept.
constexpr double kMinShare = 0.05, kMinShareOfWindow = 0.01;

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// Returns the column of program names, as ids of their texts.
const Column* program_column(const Table& threads) {
  const Column* column = threads.find(kPcomm);
  return column && column->def().storage == Storage::String ? column : nullptr;
}

// Returns the row's increase inside the window; none if its base is unknown.
std::optional<std::uint64_t> increase_of(const Column& column, const Opening& opening,
                                         const Column* base, std::size_t row) {
  if (!column.has_value(row)) return std::nullopt;
  const std::uint64_t end = column.u64()[row];
  if (row < opening.started.size() && opening.started[row] != 0) return end;
  if (!base || !base->has_value(row) || base->u64()[row] > end) return std::nullopt;
  return end - base->u64()[row];
}

void add_rates(const Snapshot& window, const Column& column, double length_s, WindowRates& out) {
  const Opening& opening = window.window->openings[static_cast<std::size_t>(Entity::Thread)];
  const Column* base = opening.find(column.def().name);
  const Column* programs = program_column(window.threads());
  std::map<Id, double> sums;
  double sum = 0;
  for (std::size_t row = 0; row < column.rows(); ++row) {
    const auto number = increase_of(column, opening, base, row);
    if (!number || *number == 0) continue;
    const double rate = static_cast<double>(*number) / length_s;
    sum += rate;
    if (programs && programs->has_value(row)) sums[programs->ids()[row]] += rate;
  }
  const std::string& metric = column.def().name;
  out.rates[{metric, ""}] = sum;
  for (const auto& [id, rate] : sums)
    if (rate >= kMinShareOfWindow * sum)
      out.rates[{metric, std::string(window.pools->texts[id])}] += rate;
}

// Divides a piece into blocks of nearly equal size, with at least `windows` windows each.
void add_blocks(const WindowRange& piece, std::size_t windows, std::vector<WindowRange>& blocks) {
  const std::size_t count = piece.count / windows;
  std::size_t first = piece.first;
  for (std::size_t block = 0; block < count; ++block) {
    const std::size_t size = piece.count / count + (block < piece.count % count ? 1 : 0);
    blocks.push_back({first, size});
    first += size;
  }
}

std::string duration_text(double ns) { return format_duration(static_cast<std::uint64_t>(ns)); }

// The minimum length of a block, and its reason.
struct BlockLength {
  double ns = 0;
  bool is_from_autocorrelation = false;  // otherwise chosen so that the shorter side has kMaxBlocks
};

BlockLength compute_block_length(std::span<const WindowSeries> sides) {
  double autocorrelation_ns = 0, shortest_ns = std::numeric_limits<double>::infinity();
  for (const WindowSeries& side : sides) {
    autocorrelation_ns = std::max(autocorrelation_ns, side.autocorrelation_ns());
    shortest_ns = std::min(
        shortest_ns, static_cast<double>(side.window_ns()) * static_cast<double>(side.size()));
  }
  const double needed_ns = kAutocorrelationTimesPerBlock * autocorrelation_ns;
  const bool is_needed = needed_ns > shortest_ns / kMaxBlocks;
  return {is_needed ? needed_ns : shortest_ns / kMaxBlocks, is_needed};
}

// Returns the blocks of one side.
std::vector<WindowRange> divide_into_blocks(const WindowSeries& side, double block_ns) {
  std::vector<WindowRange> blocks;
  const double window_ns = static_cast<double>(side.window_ns());
  const double least = static_cast<double>(side.size()) / kMaxBlocksOfLongerSide;
  const double windows = std::max({std::ceil(block_ns / window_ns - 1e-3), std::ceil(least), 1.0});
  if (windows > static_cast<double>(side.size())) return blocks;
  for (const WindowRange& piece : side.contiguous_ranges())
    add_blocks(piece, static_cast<std::size_t>(windows), blocks);
  return blocks;
}

std::string too_few_windows_message(const WindowSeries& side) {
  if (side.size() >= kMinWindows)
    return "cannot test for significance: the windows have length zero";
  return "too few windows to test: " + std::to_string(side.size()) +
         " on one side; each side needs at least " + std::to_string(kMinWindows);
}

// Explains why a side has too few blocks: gaps or the autocorrelation can be the cause.
std::string too_few_blocks_message(std::size_t blocks, const WindowSeries& side,
                                   const BlockLength& length) {
  std::string text = "too few blocks to test: " + std::to_string(side.size()) + " windows";
  if (side.contiguous_ranges().size() > 1)
    text +=
        " in " + std::to_string(side.contiguous_ranges().size()) + " parts with gaps between them";
  text += " have " + std::to_string(blocks) + " independent blocks";
  if (length.is_from_autocorrelation)
    text += std::isinf(length.ns) ? ", because values are correlated over the whole span"
                                  : " of " + duration_text(length.ns) + " (" +
                                        std::to_string(std::lround(kAutocorrelationTimesPerBlock)) +
                                        " autocorrelation times)";
  return text + "; each side needs " + std::to_string(kMinBlocks);
}

// Returns text such as "240 windows in 8 blocks of 2 min 30 s; each block counts as one run; 3
// windows next to gaps are not used".
std::string describe_blocks(const WindowSeries& side, std::span<const WindowRange> blocks) {
  const std::size_t windows = count_windows(blocks);
  const auto ns = static_cast<double>(side.window_ns()) * static_cast<double>(windows);
  std::string text = std::to_string(windows) + " windows in " + std::to_string(blocks.size()) +
                     " blocks of " + duration_text(ns / static_cast<double>(blocks.size())) +
                     "; each block counts as one run";
  if (side.contiguous_ranges().size() > 1)
    text += "; gaps divide the windows into " + std::to_string(side.contiguous_ranges().size()) +
            " parts";
  if (windows < side.size())
    text += "; " + std::to_string(side.size() - windows) + " windows next to gaps are not used";
  return text;
}

}  // namespace

WindowRates rates_of(const Snapshot& window) {
  WindowRates figures{window.window->opened_at, window.meta.start, window.meta.boot_id, {}};
  const double length_s = seconds(std::max<std::uint64_t>(figures.length_ns(), 1));
  for (const Column& column : window.threads().columns)
    if (column.def().headline && column.def().storage == Storage::U64 && counts_up(column.def()))
      add_rates(window, column, length_s, figures);
  return figures;
}

void WindowSeries::add(std::size_t number, const WindowRates& figures) {
  const bool is_contiguous =
      !contiguous_ranges_.empty() &&
      number == contiguous_ranges_.back().first + contiguous_ranges_.back().count &&
      !boot_id_.empty() && figures.boot_id == boot_id_ &&
      figures.opened_at.boottime_ns == last_ended_at_.boottime_ns;
  if (!is_contiguous) contiguous_ranges_.push_back({number, 0});
  ++contiguous_ranges_.back().count;
  for (const auto& [key, rate] : figures.rates)
    rates_[key].emplace_back(lengths_ns_.size(), static_cast<float>(rate));
  lengths_ns_.push_back(figures.length_ns());
  last_ended_at_ = figures.ended_at;
  boot_id_ = figures.boot_id;
}

std::uint64_t WindowSeries::window_ns() const {
  const std::uint64_t sum =
      std::accumulate(lengths_ns_.begin(), lengths_ns_.end(), std::uint64_t{0});
  return lengths_ns_.empty() ? 0 : sum / lengths_ns_.size();
}

// Returns the series of all threads, and those of programs with a sufficient share that ran in at
// least every other window. The work of a short-lived program is in one or two blocks, and its rows
// cannot be significant (core/statistics/eligible_rows.hpp).
std::vector<std::vector<double>> WindowSeries::series() const {
  std::map<std::string, double> sums;
  std::vector<std::vector<double>> series;
  // For each metric, the sum of all threads comes first, because its program name is empty.
  for (const auto& [key, rates] : rates_) {
    std::vector<double> rates_of_windows(size());
    for (const auto& [window, rate] : rates) rates_of_windows[window] = rate;
    const double sum = std::accumulate(rates_of_windows.begin(), rates_of_windows.end(), 0.0);
    if (key.second.empty()) sums[key.first] = sum;
    const auto idle = static_cast<std::size_t>(std::ranges::count(rates_of_windows, 0.0));
    if (sum > 0 && sum >= kMinShare * sums[key.first] && 2 * idle <= size())
      series.push_back(std::move(rates_of_windows));
  }
  return series;
}

double WindowSeries::autocorrelation_ns() const {
  return statistics::estimate_shared_autocorrelation_time(series()) *
         static_cast<double>(window_ns());
}

std::size_t count_windows(std::span<const WindowRange> blocks) {
  std::size_t count = 0;
  for (const WindowRange& block : blocks) count += block.count;
  return count;
}

BlockPlan plan_blocks(std::span<const WindowSeries> sides) {
  BlockPlan plan;
  for (const WindowSeries& side : sides)
    if (side.size() < kMinWindows || side.window_ns() == 0)
      return {{}, {}, too_few_windows_message(side)};
  const BlockLength length = compute_block_length(sides);
  for (const WindowSeries& side : sides) {
    const std::vector<WindowRange>& blocks =
        plan.sides.emplace_back(divide_into_blocks(side, length.ns));
    if (blocks.size() < kMinBlocks)
      return {{}, {}, too_few_blocks_message(blocks.size(), side, length)};
    plan.messages.push_back(describe_blocks(side, blocks));
  }
  return plan;
}

Result<Snapshot> join_block(const WindowRange& block,
                            const std::function<Result<Snapshot>(std::size_t)>& read) {
  auto first = read(block.first);
  if (!first || block.count == 1) return first;
  Timestamp ended_at = first->meta.start;
  const std::string boot_id = first->meta.boot_id;
  WindowJoiner joiner(std::move(*first));
  for (std::size_t at = 1; at < block.count; ++at) {
    CTPROF_TRY_VALUE(auto next, read(block.first + at));
    if (next.meta.boot_id != boot_id || next.window->opened_at.boottime_ns != ended_at.boottime_ns)
      return Error{"reading consecutive windows: they changed while they were read; try again"};
    ended_at = next.meta.start;
    joiner.add(std::move(next));
  }
  return std::move(joiner).join();
}

}  // namespace ctprof
