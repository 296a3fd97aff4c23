#include "core/window/merge_exited_threads.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/registry/identity.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kKeys = 5;
constexpr std::array<std::string_view, kKeys> kKeyNames{kTgid, kPcomm, kComm, kCgroup, kDescendant};
// Keys that must be equal, from strict to lax, as bits of kKeyNames.
constexpr std::array<unsigned, 4> kKeyMasks{0b11111, 0b11110, 0b11000, 0b10000};

using Key = std::array<std::uint64_t, kKeys>;

struct HashKey {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = 0;
    for (const std::uint64_t part : key) hash = (hash ^ part) * 0x9E3779B97F4A7C15;
    return hash;
  }
};

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// Returns the stored bits of the cell: equal bits are equal values.
std::uint64_t bits_of(const Column& column, std::uint32_t row) {
  if (!column.has_value(row)) return kNone;
  switch (column.def().storage) {
    case Storage::U64: return column.u64()[row];
    case Storage::I64: return static_cast<std::uint64_t>(column.i64()[row]);
    case Storage::F64: return std::bit_cast<std::uint64_t>(column.f64()[row]);
    case Storage::Bool: return column.bools()[row];
    default: return column.ids()[row];
  }
}

Key key_of(const Table& threads, std::uint32_t row, unsigned key_mask) {
  Key key{};
  for (std::size_t i = 0; i < kKeys; ++i)
    if (const Column* column = threads.find(kKeyNames[i]); column && (key_mask >> i & 1))
      key[i] = bits_of(*column, row);
  return key;
}

// Returns whether the row is a thread that did not exist before the window.
bool is_new(const Table& threads, std::uint32_t row, std::uint64_t since) {
  const Column *start = threads.find(kStartTime),
               *tolerance_column = threads.find(kStartErrorTicks),
               *exec_column = threads.find(kTookOverLeader);
  if (!start || !start->has_value(row)) return false;
  if (exec_column && exec_column->has_value(row) && exec_column->bools()[row]) return false;
  const std::uint64_t tolerance =
      tolerance_column && tolerance_column->has_value(row) ? tolerance_column->u64()[row] : 0;
  return start->u64()[row] >= since + tolerance;
}

// Returns the row into which each row is merged: itself, or an earlier one.
std::vector<std::uint32_t> find_representatives(const Table& threads, std::uint64_t since,
                                                unsigned key_mask) {
  std::vector<std::uint32_t> representatives(threads.rows);
  std::unordered_map<Key, std::uint32_t, HashKey> first;
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    representatives[row] =
        is_new(threads, row, since)
            ? first.try_emplace(key_of(threads, row, key_mask), row).first->second
            : row;
  return representatives;
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return a > kNone - b ? kNone : a + b; }

// Returns whether a merged row keeps the value of one of its threads.
bool keeps_one_value(const MetricDef& def) {
  return def.is_hidden || def.name == kTid || def.name == kTgid || def.name == kStartTime;
}

// Adds the cell of a row to that of its representative.
void add_cell(Column& column, std::uint32_t to, std::uint32_t from) {
  const MetricDef& def = column.def();
  if (keeps_one_value(def)) return;
  const bool adds = def.storage == Storage::U64 &&
                    (counts_up(def) || def.family == "peak" || def.name == kThreads);
  if (adds && column.has_value(to) && column.has_value(from)) {
    std::uint64_t& total = column.u64()[to];
    const std::uint64_t addend = column.u64()[from];
    total = def.family == "peak" ? std::max(total, addend) : sum(total, addend);
  } else if (adds) {
    if (!column.has_value(to)) column.copy_from(to, column, from);
  } else if (column.gap(to) != column.gap(from) || bits_of(column, to) != bits_of(column, from)) {
    column.gaps()[to] = CTPROF_NOT_APPLICABLE;
  }
}

// Same for a column of stacks. Makes each set once, however many rows are merged into it.
void add_stacks(Column& column, std::span<const std::uint32_t> representatives, StackPool& pool) {
  std::unordered_map<std::uint32_t, std::vector<ctprof_stack>> sums;
  for (std::uint32_t row = 0; row < representatives.size(); ++row)
    if (representatives[row] != row && column.has_value(row))
      pool.add_set_to(pool, column.ids()[row], sums[representatives[row]]);
  for (auto& [row, stacks] : sums) {
    if (column.has_value(row)) pool.add_set_to(pool, column.ids()[row], stacks);
    column.ids()[row] = pool.append(stacks);
    column.gaps()[row] = CTPROF_VALUE;
  }
}

// Same for a column of arrays that count up, element by element.
void add_arrays_of_rows(Column& column, std::span<const std::uint32_t> representatives,
                        WordsPool& pool) {
  for (std::uint32_t row = 0; row < representatives.size(); ++row)
    if (representatives[row] != row && column.has_value(row))
      add_array(column, representatives[row], pool[column.ids()[row]], pool);
}

void add_cells(Column& column, std::span<const std::uint32_t> representatives, Pools& pools) {
  if (column.def().storage == Storage::Stacks)
    return add_stacks(column, representatives, pools.stacks);
  if (column.def().storage == Storage::Array && counts_up(column.def()))
    return add_arrays_of_rows(column, representatives, pools.words);
  for (std::uint32_t row = 0; row < representatives.size(); ++row)
    if (representatives[row] != row) add_cell(column, representatives[row], row);
}

void merge_by(ExitedThreads& exited, std::uint64_t since, unsigned key_mask) {
  Table& threads = exited.rows.threads();
  const std::vector<std::uint32_t> representatives = find_representatives(threads, since, key_mask);
  std::vector<std::uint32_t> kept_rows;
  for (std::uint32_t row = 0; row < representatives.size(); ++row)
    if (representatives[row] == row) kept_rows.push_back(row);
  const std::vector<RowRange> runs = find_row_ranges(kept_rows);
  for (Column& column : threads.columns) {
    add_cells(column, representatives, *exited.rows.pools);
    Column merged(column.def(), 0, Gap::Untouched);
    merged.assign_rows(column, runs);
    merged.provenance = column.provenance;
    column = std::move(merged);
  }
  exited.merged += threads.rows - kept_rows.size();
  threads.rows = kept_rows.size();
}

}  // namespace

void merge_exited_threads(ExitedThreads& exited, std::uint64_t since_clock_ticks,
                          std::size_t max_rows) {
  if (exited.rows.threads().rows <= max_rows) return;
  count_threads(exited.rows.threads());
  for (const unsigned key_mask : kKeyMasks) {
    merge_by(exited, since_clock_ticks, key_mask);
    if (exited.rows.threads().rows <= max_rows / 2) return;
  }
}

void count_threads(Table& threads) {
  Column* existing = threads.find(kThreads);
  Column& counts = existing ? *existing : threads.add(identity_metric(kThreads), Gap::Untouched);
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (!counts.has_value(row)) {
      counts.u64()[row] = 1;
      counts.gaps()[row] = CTPROF_VALUE;
    }
}

std::vector<std::uint64_t> threads_by_row(const Snapshot& snapshot) {
  std::vector<std::uint64_t> threads(snapshot.threads().rows, 1);
  const Column* counts = snapshot.threads().find(kThreads);
  if (!counts || counts->def().storage != Storage::U64) return threads;
  for (std::size_t row = 0; row < threads.size(); ++row)
    if (counts->has_value(row)) threads[row] = counts->u64()[row];
  return threads;
}

}  // namespace ctprof
