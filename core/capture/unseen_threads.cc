#include "core/capture/unseen_threads.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string_view>

#include "core/capture/source_run.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::array kKeys{kTid, kTgid, kPcomm, kComm, kCgroup, kStartTime};

bool has_unseen(const Column& column) {
  const auto gaps = column.gaps();
  return !gaps.empty() && std::memchr(gaps.data(), CTPROF_UNSEEN, gaps.size()) != nullptr;
}

// Returns the rows that have an Unseen cell, ascending.
std::vector<std::uint32_t> unseen_rows(const Table& table) {
  std::vector<std::uint32_t> rows;
  for (const Column& column : table.columns) {
    if (!has_unseen(column)) continue;
    const auto gaps = column.gaps();
    for (std::uint32_t row = 0; row < gaps.size(); ++row)
      if (gaps[row] == CTPROF_UNSEEN) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Returns a table of only these rows, with their identity.
Table reserve_table(const Table& table, const std::vector<std::uint32_t>& rows) {
  Table reserve;
  reserve.rows = rows.size();
  const std::vector<RowRange> runs = find_row_ranges(rows);
  for (const std::string_view key : kKeys)
    reserve.add(identity_metric(key), Gap::Untouched).assign_rows(*table.find(key), runs);
  return reserve;
}

void collect(SourceRun& run, std::size_t rows) {
  for (std::size_t first = 0; first < rows; first += CTPROF_MAX_ROWS)
    run.collect(0, first,
                static_cast<std::uint32_t>(std::min<std::size_t>(CTPROF_MAX_ROWS, rows - first)),
                {});
}

void copy_values(const PlannedSource& planned, const Table& reserve,
                 const std::vector<std::uint32_t>& rows, Table& table) {
  for (std::size_t i = 0; i < planned.selected_offers.size(); ++i) {
    if (!planned.selected_offers[i]) continue;
    const std::string& name = planned.source->offers[i].metric->name;
    const Column& from = *reserve.find(name);
    Column& to = *table.find(name);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (to.gap(rows[row]) == Gap::Unseen) to.copy_from(rows[row], from, row);
  }
}

}  // namespace

std::vector<SourceCost> fill_unseen_threads(const Plan& plan, const ProbedHost& probed,
                                            Snapshot& snapshot, std::uint64_t clock_start) {
  Table& table = snapshot.threads();
  const std::vector<std::uint32_t> rows = unseen_rows(table);
  std::vector<SourceCost> costs;
  if (rows.empty()) return costs;
  for (const PlannedSource& planned : plan.reserve_sources) {
    Table reserve = reserve_table(table, rows);
    SourceRun run(planned, reserve, *snapshot.pools, probed.host_for(*planned.plugin), 1,
                  clock_start);
    for (Column& column : reserve.columns) column.resize(rows.size(), Gap::Untouched);
    collect(run, rows.size());
    copy_values(planned, reserve, rows, table);
    SourceCost cost = run.finish();
    cost.gaps.clear();  // the lister reports the gaps of the table's columns
    cost.unseen_rows = rows.size();
    costs.push_back(std::move(cost));
  }
  for (Column& column : table.columns)
    if (has_unseen(column))
      std::ranges::replace(column.gaps(), ctprof_gap{CTPROF_UNSEEN}, ctprof_gap{CTPROF_DENIED});
  return costs;
}

}  // namespace ctprof
