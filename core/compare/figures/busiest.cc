#include "core/compare/figures/busiest.hpp"

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// Values of either sign in one type that keeps their order; below zero nobody is busy.
std::uint64_t above_zero(const Column& column, std::uint32_t row) {
  if (column.def().storage == Storage::U64) return column.u64()[row];
  const std::int64_t value = column.i64()[row];
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

Busiest named(const Snapshot& snapshot, std::uint32_t row) {
  const Column *tids = snapshot.threads().find(kTid), *comms = snapshot.threads().find(kComm);
  Busiest busiest;
  if (tids && tids->def().storage == Storage::U64) busiest.tid = tids->u64()[row];
  if (comms && comms->def().storage == Storage::String && comms->has_value(row))
    busiest.comm = snapshot.pools->texts[comms->ids()[row]];
  return busiest;
}

}  // namespace

std::optional<Busiest> busiest_thread(const Snapshot& snapshot, const Members& threads,
                                      const PlannedMetric& metric, CellAt at) {
  const Column* column = metric.columns[at.side];
  const bool fits =
      column && metric.entity == Entity::Thread && (metric.is_sum || metric.is_maximum);
  if (!fits || (column->def().storage != Storage::U64 && column->def().storage != Storage::I64))
    return {};
  std::uint64_t most = 0;
  std::uint32_t found = 0;
  for (const std::uint32_t row : threads.of(at.group)) {
    if (!column->has_value(row) || above_zero(*column, row) <= most) continue;
    most = above_zero(*column, row);
    found = row;
  }
  return most > 0 ? std::optional(named(snapshot, found)) : std::nullopt;
}

}  // namespace ctprof
