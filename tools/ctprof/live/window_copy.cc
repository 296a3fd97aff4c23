#include "tools/ctprof/live/window_copy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/file/capture_file.hpp"
#include "core/file/file.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/window/differences.hpp"

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
    const RowRange all[]{{0, static_cast<std::uint32_t>(from.rows())}};
    to.assign_rows(from, all);
    to.provenance = from.provenance;
    if (!is_pooled(from.def().storage)) return;
    for (std::uint32_t row = 0; row < from.rows(); ++row)
      if (from.has_value(row)) map_id(from, to, row);
  }

  void map_id(const Column& from, Column& to, std::uint32_t row) {
    std::vector<Id>& ids = mapped_ids_[static_cast<std::size_t>(from.def().storage)];
    const Id id = from.ids()[row];
    if (id >= ids.size()) ids.resize(id + std::size_t{1}, kUnknown);
    if (ids[id] == kUnknown) {
      copy_cell(to, row, *to_.pools, from, row, *from_.pools);
      ids[id] = to.ids()[row];
    }
    to.ids()[row] = ids[id];
  }

  const Snapshot& from_;
  Snapshot& to_;
  std::array<std::vector<Id>, kStorages> mapped_ids_;  // maps an id to its id in the copy
};

// Copies everything except the columns of rows at the opening.
Window copy_window_data(const Window& window) {
  Window copy;
  copy.opened_at = window.opened_at;
  copy.seen_times = window.seen_times;
  copy.living_threads = window.living_threads;
  copy.exited_lost = window.exited_lost;
  copy.exited_unknown = window.exited_unknown;
  copy.exited_merged = window.exited_merged;
  copy.reports_exits = window.reports_exits;
  copy.is_partial = window.is_partial;
  copy.host_context = window.host_context;
  copy.notes = window.notes;
  copy.opening_only = window.opening_only;  // shared, because it never changes
  return copy;
}

}  // namespace

std::optional<Snapshot> copy_window(const Snapshot& window) {
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
  copy.extras->header_objects = window.extras->header_objects;
  copy.text_bytes = window.text_bytes;
  copy.window = copy_window_data(*window.window);
  Copier copier(window, copy);
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    const Opening& from = window.window->openings[entity];
    Opening& to = copy.window->openings[entity];
    copy.tables[entity].rows = window.tables[entity].rows;
    copier.copy(window.tables[entity].columns, copy.tables[entity].columns);
    copier.copy(from.columns, to.columns);
    to.started = from.started;
  }
  return copy;
}

Result<Snapshot> copy_differences(const Snapshot& window, const Vocabulary& vocabulary) {
  std::optional<Snapshot> copy = copy_window(window);
  if (!copy) {
    CTPROF_TRY_VALUE(const auto bytes, serialize_block(window, 1));
    CTPROF_TRY_VALUE(auto loaded, CaptureFile(bytes, {"a window of this host"}).load(vocabulary));
    copy.emplace(std::move(loaded));
  }
  convert_to_differences(*copy);
  return std::move(*copy);
}

}  // namespace ctprof::live
