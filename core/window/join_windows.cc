#include "core/window/join_windows.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/window/differences.hpp"
#include "core/window/match_rows.hpp"
#include "core/window/opening_only_rows.hpp"
#include "core/window/recorded_values.hpp"
#include "core/window/thread_identities.hpp"

namespace ctprof {

Result<Snapshot> window_between(const Snapshot& before, Snapshot after,
                                const std::string& before_name, const std::string& after_name) {
  // Stacks of sleeping threads at one time do not describe the time before.
  std::erase_if(after.threads().columns,
                [](const Column& column) { return column.def().storage == Storage::Stacks; });
  CTPROF_TRY_VALUE(auto window, make_window(before, std::move(after), {}, before_name, after_name));
  const auto earlier = match_rows(before, window, Entity::Thread, {}, {});
  const auto matched =
      std::ranges::count_if(earlier, [](const RowMatch& thread) { return thread.row != kNoRow; });
  window.window->exited_unknown = before.threads().rows - static_cast<std::size_t>(matched);
  return window;
}

bool follows(const Snapshot& next, const Snapshot& window) {
  return next.window && window.window && !next.meta.boot_id.empty() &&
         next.meta.boot_id == window.meta.boot_id &&
         next.window->opened_at.boottime_ns == window.meta.start.boottime_ns;
}

namespace {

// Returns whether the row existed at the opening. Then each column has its value, or the reason why
// it could not be read. Recorded columns are ignored, because they start at zero for every row.
bool existed_at_opening(const Opening& opening, std::size_t row) {
  if (opening.started[row]) return false;
  bool has_column = false;
  for (const Column& column : opening.columns) {
    if (is_recorded(column.def())) continue;
    if (column.gap(row) != Gap::NoBase) return true;
    has_column = true;
  }
  return !has_column;
}

// Returns these rows, in the order of a table.
std::vector<std::uint32_t> rows_at_opening(const Table& table, const Opening& opening) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < table.rows; ++row)
    if (existed_at_opening(opening, row)) rows.push_back(row);
  const Column *tgids = table.find_u64(kTgid), *tids = table.find_u64(kTid);
  if (!tgids || !tids) return rows;
  // Exited threads follow the living ones.
  std::ranges::stable_sort(rows, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(tgids->u64()[a], tids->u64()[a]) < std::pair(tgids->u64()[b], tids->u64()[b]);
  });
  return rows;
}

Column gather_rows(const Column& from, std::span<const RowRange> rows) {
  Column column(from.def(), 0, Gap::Untouched);
  column.assign_rows(from, rows);
  column.provenance = from.provenance;
  return column;
}

// Omits columns without a reading at the opening: peaks, and metrics that were read only at the
// end.
Table table_at_opening(const Table& table, const Opening& opening,
                       std::span<const std::uint32_t> rows) {
  const std::vector<RowRange> runs = find_row_ranges(rows);
  Table opening_table;
  opening_table.rows = rows.size();
  for (const Column& column : table.columns) {
    if (is_recorded(column.def())) continue;
    const Column* opening_column = opening.find(column.def().name);
    if (!opening_column && column.def().family != "identity") continue;
    opening_table.columns.push_back(gather_rows(opening_column ? *opening_column : column, runs));
    opening_table.columns.back().provenance = column.provenance;
  }
  return opening_table;
}

// Returns the distinct processes of these threads, in order.
std::vector<std::uint64_t> tgids_of(const Table& threads) {
  std::vector<std::uint64_t> tgids;
  const Column* column = threads.find_u64(kTgid);
  for (std::size_t row = 0; column && row < threads.rows; ++row)
    if (tgids.empty() || tgids.back() != column->u64()[row]) tgids.push_back(column->u64()[row]);
  return tgids;
}

// Replaces the process rows by those of the threads. All other cells of a process that has exited
// since are ThreadGone.
void match_processes(Table& processes, const Table& threads) {
  const Column* tgid_column = processes.find_u64(kProcessTgid);
  if (!tgid_column) return;
  const std::vector<std::uint64_t> tgids = tgids_of(threads);
  const std::vector<std::uint64_t> old_tgids(tgid_column->u64().begin(), tgid_column->u64().end());
  if (old_tgids.empty() || old_tgids == tgids) return;
  std::map<std::uint64_t, std::uint32_t> rows;
  for (std::uint32_t row = 0; row < old_tgids.size(); ++row) rows.emplace(old_tgids[row], row);
  Table matched;
  matched.rows = tgids.size();
  for (const Column& from : processes.columns) {
    Column& column = matched.add(from.def(), Gap::ThreadGone);
    column.provenance = from.provenance;
    for (std::uint32_t row = 0; row < tgids.size(); ++row)
      if (const auto entry = rows.find(tgids[row]); entry != rows.end())
        column.copy_from(row, from, entry->second);
  }
  Column& ids = *matched.find(kProcessTgid);
  std::ranges::copy(tgids, ids.u64().begin());
  std::ranges::fill(ids.gaps(), CTPROF_VALUE);
  processes = std::move(matched);
}

// A thread that replaced its leader by exec has the identity of the exited leader. Its previous id
// is not in the file. It gets thread id 0, which no thread has, so that the two rows are
// distinguishable at the beginning.
void make_identities_unique(Table& threads, std::size_t living) {
  const auto names = thread_identities(threads);
  std::set<ThreadIdentity> identities_of_exited;
  for (std::size_t row = living; row < names.size(); ++row) {
    const bool is_first = identities_of_exited.insert(names[row]).second;
    if (names[row].is_leader() && !is_first) threads.find(kTid)->u64()[row] = 0;
  }
  for (std::size_t row = 0; row < living; ++row)
    if (names[row].is_leader() && identities_of_exited.contains(names[row]))
      threads.find(kTid)->u64()[row] = 0;
}

// Removes definitions of columns that were removed.
void remove_unused_definitions(Snapshot& snapshot) {
  std::erase_if(snapshot.extras->unknown_definitions.metric_members, [&](const auto& of_metric) {
    return std::ranges::none_of(snapshot.tables, [&](const Table& table) {
      return table.find(of_metric.first) != nullptr;
    });
  });
}

}  // namespace

Snapshot opening_snapshot(Snapshot window) {
  const Window window_data = *std::exchange(window.window, std::nullopt);
  make_identities_unique(window.threads(), window_data.living_threads);
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    Table& table = window.tables[entity];
    const auto rows = rows_at_opening(table, window_data.openings[entity]);
    if (entity == static_cast<std::size_t>(Entity::Thread) &&
        window_data.seen_times.size() == table.rows)
      for (const std::uint32_t row : rows)
        window.read_at.push_back(window_data.seen_times[row].first);
    table = table_at_opening(table, window_data.openings[entity], rows);
  }
  if (window_data.opening_only) restore_threads(window, *window_data.opening_only);
  match_processes(window.table(Entity::Process), window.threads());
  if (window_data.opening_only) restore_processes_and_cgroups(window, *window_data.opening_only);
  remove_unused_definitions(window);
  window.meta.start = window.meta.end = window_data.opened_at;
  window.started_at.clear();
  window.extras->unknown_keys = {};
  window.extras->unknown_tables.clear();  // contains the values at the end
  window.extras->clear_window();
  std::erase_if(window.objects, [](const auto& object) { return object.first != kHostContext; });
  if (!window_data.host_context.empty()) window.objects[kHostContext] = window_data.host_context;
  return window;
}

namespace {

// Returns the living threads of a window with their identities and recorded columns.
Snapshot living_with_recorded(const Snapshot& window) {
  Snapshot recorded;
  recorded.meta = window.meta;
  Table& threads = recorded.threads();
  threads.rows = window.window->living_threads;
  for (const Column& column : window.threads().columns) {
    const std::string& name = column.def().name;
    const bool is_identity = name == kTgid || name == kTid || name == kStartTime;
    if (!is_identity && !is_recorded(column.def())) continue;
    Column& copy = threads.add(column.def(), Gap::Untouched);
    for (std::uint32_t row = 0; row < threads.rows; ++row)
      copy_cell(copy, row, *recorded.pools, column, row, *window.pools);
  }
  return recorded;
}

// Returns the row in the window of each thread of `recorded`; kNoRow: none. If two threads have one
// identity, an exited one precedes the living one that replaced it.
std::vector<std::uint32_t> find_rows(const Snapshot& recorded, const Snapshot& window) {
  std::vector<std::uint32_t> rows(recorded.threads().rows, kNoRow);
  const auto earlier = match_rows(recorded, window, Entity::Thread, {}, {});
  for (std::uint32_t row = 0; row < earlier.size(); ++row)
    if (earlier[row].row != kNoRow) rows[earlier[row].row] = row;
  return rows;
}

}  // namespace

// Adds the recorded columns of the previous windows.
void WindowJoiner::add_recorded(Snapshot& window) {
  const auto rows = find_rows(recorded_, window);
  for (const Column& more : recorded_.threads().columns) {
    if (!is_recorded(more.def())) continue;
    Column* column = window.threads().find(more.def().name);
    if (!column) column = &window.threads().add(more.def(), Gap::NotInFile);
    if (!has_same_meaning(column->def(), more.def()) || !is_recorded(column->def())) continue;
    const std::uint64_t without_row =
        add_recorded_values(*column, *window.pools, more, *recorded_.pools, rows);
    if (without_row > 0) notes_.push_back(describe_values_without_row(without_row, more.def()));
  }
}

void WindowJoiner::add_covered_times(const Snapshot& window) {
  for (const StackTally& tally : window.meta.stacks) {
    auto& sum = covered_ns_.try_emplace({tally.plugin, tally.source}, 0).first->second;
    sum = sum && tally.covered_ns ? std::optional(*sum + *tally.covered_ns) : std::nullopt;
  }
}

WindowJoiner::WindowJoiner(Snapshot first)
    : has_opening_rows_(first.window->opening_only != nullptr) {
  record_start_times(first);
  add_exited(first);
  add_covered_times(first);
  recorded_ = living_with_recorded(first);
  opening_ = opening_snapshot(std::move(first));
}

void WindowJoiner::add(Snapshot window) {
  add_recorded(window);
  record_start_times(window);
  add_exited(window);
  add_covered_times(window);
  recorded_ = living_with_recorded(window);
  last_window_ = std::move(window);
}

// In a file, only the time at which a thread was first seen has its start in nanoseconds; its start
// time has the resolution of a clock tick.
void WindowJoiner::record_start_times(const Snapshot& window) {
  const Window& window_data = *window.window;
  const auto& is_started = window_data.openings[static_cast<std::size_t>(Entity::Thread)].started;
  const auto names = thread_identities(window.threads());
  if (window_data.seen_times.size() != names.size()) return;
  for (std::size_t row = 0; row < names.size(); ++row)
    if (is_started[row] != 0)
      start_times_.try_emplace(
          names[row], window_data.opened_at.boottime_ns + window_data.seen_times[row].first);
}

void WindowJoiner::restore_start_times(Snapshot& whole) const {
  Window& window = *whole.window;
  const auto& is_started = window.openings[static_cast<std::size_t>(Entity::Thread)].started;
  const auto names = thread_identities(whole.threads());
  for (std::size_t row = 0; row < window.seen_times.size(); ++row) {
    const auto entry = is_started[row] != 0 ? start_times_.find(names[row]) : start_times_.end();
    if (entry == start_times_.end()) continue;
    const std::uint64_t first =
        entry->second - std::min(entry->second, window.opened_at.boottime_ns);
    window.seen_times[row].first = std::min(first, window.seen_times[row].last);
  }
}

// Appends the threads that exited in the window to those of the previous windows.
void WindowJoiner::add_exited(const Snapshot& window) {
  const Window& window_data = *window.window;
  append_exited(window);
  for (std::size_t row = window_data.living_threads; row < window.threads().rows; ++row)
    exited_.exit_ns.push_back(window_data.seen_times.empty()
                                  ? window.meta.start.boottime_ns
                                  : window_data.opened_at.boottime_ns +
                                        window_data.seen_times[row].last);
  exited_.lost += window_data.exited_lost;
  exited_.unseen += window_data.exited_unknown;
  exited_.merged += window_data.exited_merged;
  has_exits_ = has_exits_ && window_data.reports_exits;
  is_partial_ = is_partial_ || window_data.is_partial;
  notes_.insert(notes_.end(), window_data.notes.begin(), window_data.notes.end());
}

void WindowJoiner::append_exited(const Snapshot& window) {
  const Table& threads = window.threads();
  Table& exited_table = exited_.rows.threads();
  const std::size_t first = exited_table.rows, living = window.window->living_threads;
  for (const Column& column : threads.columns)
    if (!exited_table.find(column.def().name)) exited_table.add(column.def(), Gap::Untouched);
  exited_table.rows += threads.rows - living;
  for (Column& column : exited_table.columns) {
    column.resize(exited_table.rows, Gap::Untouched);
    const Column* from = threads.find(column.def().name);
    if (!from || !has_same_meaning(from->def(), column.def())) continue;
    for (std::size_t row = living; row < threads.rows; ++row)
      copy_cell(column, static_cast<std::uint32_t>(first + row - living), *exited_.rows.pools,
                *from, static_cast<std::uint32_t>(row), *window.pools);
  }
}

namespace {

// Keeps the first of equal texts.
std::vector<std::string> remove_repeated(std::vector<std::string> texts) {
  std::unordered_set<std::string, SeededHash> known;
  std::erase_if(texts, [&](const std::string& text) { return !known.insert(text).second; });
  return texts;
}

bool has_other_definition(const Snapshot& snapshot, const Column& column) {
  const Column* other = snapshot.threads().find(column.def().name);
  return other && !has_same_meaning(other->def(), column.def());
}

// Returns the closing snapshot, and also the recorded columns, which closing_snapshot() omits.
Snapshot closing_with_recorded(Snapshot window) {
  std::deque<Column>& columns = window.threads().columns;
  const auto first =
      std::stable_partition(columns.begin(), columns.end(),
                            [](const Column& column) { return !is_recorded(column.def()); });
  std::deque<Column> recorded;
  std::move(first, columns.end(), std::back_inserter(recorded));
  columns.erase(first, columns.end());
  Snapshot end = closing_snapshot(std::move(window));
  for (Column& column : recorded) {
    column.resize(end.threads().rows, Gap::Untouched);
    end.threads().columns.push_back(std::move(column));
  }
  return end;
}

}  // namespace

Result<Snapshot> WindowJoiner::join() && {
  // Start times are already resolved, and files may define one metric differently.
  std::erase_if(exited_.rows.threads().columns, [&](const Column& column) {
    return column.def().name == kStartErrorTicks || has_other_definition(opening_, column) ||
           has_other_definition(*last_window_, column);
  });
  exited_.has_source = has_exits_;
  CTPROF_TRY_VALUE(auto whole,
                   make_window(opening_, closing_with_recorded(std::move(*last_window_)),
                               std::move(exited_), "the first window", "the last"));
  for (const Column& column : whole.threads().columns)
    if (is_recorded(column.def()) && counts_up(column.def())) add_zero_base(whole, column);
  restore_start_times(whole);
  Window& window = *whole.window;
  window.is_partial = is_partial_;
  if (!has_opening_rows_) window.opening_only.reset();
  for (StackTally& tally : whole.meta.stacks)
    tally.covered_ns = covered_ns_[{tally.plugin, tally.source}];
  const std::vector<std::string> notes = remove_repeated(std::move(notes_));
  window.notes.insert(window.notes.begin(), notes.begin(), notes.end());
  return whole;
}

}  // namespace ctprof
