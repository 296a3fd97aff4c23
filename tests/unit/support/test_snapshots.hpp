// Builds snapshots cell by cell, for tests of grouping, aggregation and comparison.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/identity.hpp"
#include "core/snapshot/snapshot.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof::hand_made {

// Returns a metric with this newtype and rule, and sets the fields that follow from them.
inline MetricDef metric(std::string name, std::string_view newtype, std::string_view rule,
                        Entity entity = Entity::Thread) {
  const NewtypeInfo& info = *find_newtype(newtype);
  MetricDef def;
  def.name = std::move(name);
  def.entity = entity;
  def.storage = static_cast<Storage>(info.storage);
  def.newtype = newtype;
  def.rule = rule;
  def.unit = info.unit;
  def.family = info.family;
  def.section = "primary";
  return def;
}

template <class T>
using Cells = std::vector<std::optional<T>>;

// Adds a column. `set` writes one value; missing cells hold `gap`.
template <class T, class Set>
Column& add(Snapshot& snapshot, const MetricDef& def, const Cells<T>& cells, Gap gap, Set set) {
  Column& column = snapshot.table(def.entity).add(def, gap);
  for (std::size_t row = 0; row < cells.size(); ++row) {
    if (!cells[row]) continue;
    set(column, row, *cells[row]);
    column.gaps()[row] = CTPROF_VALUE;
  }
  return column;
}

inline Column& add_u64(Snapshot& snapshot, const MetricDef& def, const Cells<std::uint64_t>& cells,
                       Gap gap = Gap::ThreadGone) {
  return add(snapshot, def, cells, gap, [](Column& column, std::size_t row, std::uint64_t value) {
    column.u64()[row] = value;
  });
}
inline Column& add_i64(Snapshot& snapshot, const MetricDef& def, const Cells<std::int64_t>& cells) {
  return add(
      snapshot, def, cells, Gap::ThreadGone,
      [](Column& column, std::size_t row, std::int64_t value) { column.i64()[row] = value; });
}
inline Column& add_f64(Snapshot& snapshot, const MetricDef& def, const Cells<double>& cells) {
  return add(snapshot, def, cells, Gap::ThreadGone,
             [](Column& column, std::size_t row, double value) { column.f64()[row] = value; });
}
inline Column& add_bool(Snapshot& snapshot, const MetricDef& def, const Cells<bool>& cells) {
  return add(snapshot, def, cells, Gap::ThreadGone,
             [](Column& column, std::size_t row, bool value) { column.bools()[row] = value; });
}
inline Column& add_text(Snapshot& snapshot, const MetricDef& def, const Cells<std::string>& cells) {
  return add(snapshot, def, cells, Gap::ThreadGone,
             [&](Column& column, std::size_t row, const std::string& value) {
               column.ids()[row] = snapshot.pools->texts.intern(value);
             });
}
inline Column& add_bits(Snapshot& snapshot, const MetricDef& def,
                        const Cells<std::uint64_t>& words) {
  return add(snapshot, def, words, Gap::ThreadGone,
             [&](Column& column, std::size_t row, std::uint64_t word) {
               column.ids()[row] = snapshot.pools->words.intern({&word, 1});
             });
}
using MapValue = std::vector<std::pair<std::string, std::uint64_t>>;
inline Column& add_map(Snapshot& snapshot, const MetricDef& def, const Cells<MapValue>& cells) {
  return add(snapshot, def, cells, Gap::ThreadGone,
             [&](Column& column, std::size_t row, const MapValue& value) {
               std::vector<ctprof_entry> entries;
               for (const auto& [key, number] : value)
                 entries.push_back({{key.data(), key.size()}, number});
               column.ids()[row] = snapshot.pools->maps.append(entries, snapshot.pools->texts);
             });
}

using Numbers = std::vector<std::uint64_t>;
inline Column& add_numbers(Snapshot& snapshot, const MetricDef& def, const Cells<Numbers>& cells) {
  return add(snapshot, def, cells, Gap::ThreadGone,
             [&](Column& column, std::size_t row, const Numbers& numbers) {
               column.ids()[row] = snapshot.pools->words.intern(numbers);
             });
}

struct Thread {
  std::uint64_t tgid, tid;
  std::string pcomm, comm;
};

// Returns threads in (tgid, tid) order and their processes, with the identity columns.
inline Snapshot snapshot_of(const std::vector<Thread>& threads) {
  Snapshot snapshot;
  Cells<std::uint64_t> tgids, tids, processes;
  Cells<std::string> pcomms, comms;
  for (const Thread& thread : threads) {
    if (tgids.empty() || tgids.back() != thread.tgid) processes.push_back(thread.tgid);
    tgids.push_back(thread.tgid);
    tids.push_back(thread.tid);
    pcomms.push_back(thread.pcomm);
    comms.push_back(thread.comm);
  }
  snapshot.threads().rows = threads.size();
  snapshot.table(Entity::Process).rows = processes.size();
  add_u64(snapshot, identity_metric(kTgid), tgids);
  add_u64(snapshot, identity_metric(kTid), tids);
  add_text(snapshot, identity_metric(kPcomm), pcomms);
  add_text(snapshot, identity_metric(kComm), comms);
  add_u64(snapshot, identity_metric(kProcessTgid), processes);
  return snapshot;
}

}  // namespace ctprof::hand_made
