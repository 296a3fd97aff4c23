#include "core/file/columns/memory_limit.hpp"

#include <algorithm>
#include <deque>
#include <span>

#include "core/file/layout/cell.hpp"
#include "core/file/layout/limits.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof::columns {
namespace {

std::size_t memory_limit(std::size_t text_bytes) {
  return std::min(limits::kMemory, limits::kBaseMemory + limits::kMemoryPerByte * text_bytes);
}

std::size_t bytes_of(const std::deque<Column>& columns) {
  std::size_t bytes = 0;
  for (const Column& column : columns) bytes += bytes_per_row(column.def().storage);
  return bytes;
}

std::size_t bytes_of(const Snapshot& snapshot) {
  std::size_t bytes = snapshot.window ? snapshot.threads().rows * sizeof(SeenTimes) : 0;
  for (std::size_t i = 0; i < kEntities; ++i) {
    const Table& table = snapshot.tables[i];
    bytes += table.rows * bytes_of(table.columns);
    if (snapshot.window) bytes += table.rows * bytes_of(snapshot.window->openings[i].columns);
  }
  return bytes;
}

// Estimated memory of a window without rows: its definitions and pools.
constexpr std::size_t kEmptyWindow = 64 * limits::kKiB;

// Returns the bytes of the kept lines that this version does not know.
std::size_t kept_text_bytes(const Snapshot& snapshot) {
  std::size_t bytes = 0;
  const auto add = [&](std::span<const RawJson> lines) {
    for (const RawJson& line : lines) bytes += line.size();
  };
  add(snapshot.extras->unknown_lines);
  for (const UnknownRows& rows : snapshot.extras->unknown_tables) add(rows.lines);
  for (const UnknownRows& rows : snapshot.extras->unknown_opening_only) add(rows.lines);
  return bytes;
}

}  // namespace

bool rows_fit(const Snapshot& snapshot, std::size_t text_bytes) {
  return bytes_of(snapshot) <= memory_limit(text_bytes);
}

std::size_t pool_memory_limit(const Snapshot& snapshot, std::size_t text_bytes) {
  const std::size_t limit = memory_limit(text_bytes);
  return limit - std::min(limit, bytes_of(snapshot));
}

std::size_t estimate_memory(const Snapshot& snapshot) {
  std::size_t cells = 0;
  const auto add = [&](const std::deque<Column>& columns) {
    for (const Column& column : columns) cells += column.rows();
  };
  for (const Table& table : snapshot.tables) add(table.columns);
  for (const Opening& opening : snapshot.window->openings) add(opening.columns);
  if (const auto& rows = snapshot.window->opening_only)
    for (const Table& table : rows->tables) add(table.columns);
  constexpr std::size_t kCellBytes = sizeof(std::uint64_t) + sizeof(ctprof_gap);
  const StackTable& stacks = snapshot.pools->stacks.table;
  const std::size_t items = stacks.nodes().size() + stacks.frames().size();
  return kEmptyWindow + kept_text_bytes(snapshot) + cells * kCellBytes + snapshot.pools->bytes() +
         items * limits::kPooledOverhead;
}

}  // namespace ctprof::columns
