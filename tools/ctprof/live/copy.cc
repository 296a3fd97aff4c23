#include "tools/ctprof/live/copy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace ctprof::live {
namespace {

constexpr Id kUnknown = static_cast<Id>(-1);
constexpr std::size_t kStorages = static_cast<std::size_t>(Storage::Stacks) + 1;

class Copier {
 public:
  Copier(const Snapshot& from, Snapshot& to) : from_(from), to_(to) {}

  void copy(const std::deque<Column>& from, std::deque<Column>& to) {
    for (const Column& column : from)
      copy(column, to.emplace_back(column.shared_def(), 0, Gap::Untouched));
  }

 private:
  void copy(const Column& from, Column& to) {
    const RowRun all[]{{0, static_cast<std::uint32_t>(from.rows())}};
    to.gather(from, all);
    to.provenance = from.provenance;
    if (!is_pooled(from.def().storage)) return;
    for (std::uint32_t row = 0; row < from.rows(); ++row)
      if (from.has_value(row)) take_id(from, to, row);
  }

  void take_id(const Column& from, Column& to, std::uint32_t row) {
    std::vector<Id>& known = known_[static_cast<std::size_t>(from.def().storage)];
    const Id id = from.ids()[row];
    if (id >= known.size()) known.resize(id + std::size_t{1}, kUnknown);
    if (known[id] == kUnknown) {
      copy_cell(to, row, *to_.pools, from, row, *from_.pools);
      known[id] = to.ids()[row];
    }
    to.ids()[row] = known[id];
  }

  const Snapshot& from_;
  Snapshot& to_;
  std::array<std::vector<Id>, kStorages> known_;  // maps an id to its id in the copy
};

// Copies everything except the columns of rows at the opening.
Window frame_of(const Window& window) {
  Window copy;
  copy.opened = window.opened;
  copy.seen = window.seen;
  copy.living = window.living;
  copy.ended_lost = window.ended_lost;
  copy.ended_unseen = window.ended_unseen;
  copy.ended_merged = window.ended_merged;
  copy.sees_ends = window.sees_ends;
  copy.partial = window.partial;
  copy.host = window.host;
  copy.notes = window.notes;
  copy.opening_only = window.opening_only;  // shared, because it never changes
  return copy;
}

}  // namespace

std::optional<Snapshot> copy_of(const Snapshot& window) {
  const auto is_stacks = [](const Column& column) {
    return column.def().storage == Storage::Stacks;
  };
  for (const Table& table : window.tables)
    if (std::ranges::any_of(table.columns, is_stacks)) return std::nullopt;
  Snapshot copy;
  copy.meta = window.meta;
  copy.derived = window.derived;
  copy.read_at = window.read_at;
  copy.objects = window.objects;
  copy.early_objects = window.early_objects;
  copy.text_bytes = window.text_bytes;
  copy.window = frame_of(*window.window);
  Copier copier(window, copy);
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    const Opening& from = window.window->openings[entity];
    Opening& to = copy.window->openings[entity];
    copy.tables[entity].rows = window.tables[entity].rows;
    copier.copy(window.tables[entity].columns, copy.tables[entity].columns);
    copier.copy(from.columns, to.columns);
    to.born = from.born;
  }
  return copy;
}

}  // namespace ctprof::live
