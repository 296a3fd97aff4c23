#include "core/window/laps.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/registry/identity.hpp"
#include "core/window/happened.hpp"
#include "core/window/opening_only.hpp"
#include "core/window/same_rows.hpp"
#include "core/window/thread_names.hpp"

namespace ctprof {

Result<Snapshot> window_between(const Snapshot& before, Snapshot after,
                                const std::string& before_name, const std::string& after_name) {
  // Stacks of sleeping threads at one moment do not describe the time before.
  std::erase_if(after.threads().columns,
                [](const Column& column) { return column.def().storage == Storage::Stacks; });
  auto window = make_window(before, std::move(after), {}, before_name, after_name);
  if (!window) return window;
  const auto earlier = same_rows(before, *window, Entity::Thread, {}, {});
  const auto still =
      std::ranges::count_if(earlier, [](const Earlier& thread) { return thread.row != kNoRow; });
  window->window->ended_unseen = before.threads().rows - static_cast<std::size_t>(still);
  return window;
}

bool follows(const Snapshot& next, const Snapshot& window) {
  return next.window && window.window && !next.meta.boot_id.empty() &&
         next.meta.boot_id == window.meta.boot_id &&
         next.window->opened.boottime_ns == window.meta.start.boottime_ns;
}

namespace {

// Returns whether the row existed at the opening. Then each column has its value, or the reason why
// it could not be read. Recorded columns are ignored, because they start at zero for every row.
bool was_there(const Opening& opening, std::size_t row) {
  if (opening.born[row]) return false;
  bool is_told = false;
  for (const Column& column : opening.columns) {
    if (is_recorded(column.def())) continue;
    if (column.gap(row) != Gap::NoBase) return true;
    is_told = true;
  }
  return !is_told;
}

// Returns these rows, in the order of a table.
std::vector<std::uint32_t> rows_then(const Table& table, const Opening& opening) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < table.rows; ++row)
    if (was_there(opening, row)) rows.push_back(row);
  const Column *tgids = table.find_u64(kTgid), *tids = table.find_u64(kTid);
  if (!tgids || !tids) return rows;
  // Exited threads follow the living ones.
  std::ranges::stable_sort(rows, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(tgids->u64()[a], tids->u64()[a]) < std::pair(tgids->u64()[b], tids->u64()[b]);
  });
  return rows;
}

Column gathered(const Column& from, std::span<const RowRun> rows) {
  Column column(from.def(), 0, Gap::Untouched);
  column.gather(from, rows);
  column.provenance = from.provenance;
  return column;
}

// Omits columns without a reading at the opening: peaks, and metrics that were read only at the
// end.
Table table_then(const Table& table, const Opening& opening, std::span<const std::uint32_t> rows) {
  const std::vector<RowRun> runs = runs_of(rows);
  Table then;
  then.rows = rows.size();
  for (const Column& column : table.columns) {
    if (is_recorded(column.def())) continue;
    const Column* opened = opening.find(column.def().name);
    if (!opened && column.def().family != "identity") continue;
    then.columns.push_back(gathered(opened ? *opened : column, runs));
    then.columns.back().provenance = column.provenance;
  }
  return then;
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
  const Column* known = processes.find_u64(kProcessTgid);
  if (!known) return;
  const std::vector<std::uint64_t> tgids = tgids_of(threads);
  const std::vector<std::uint64_t> were(known->u64().begin(), known->u64().end());
  if (were.empty() || were == tgids) return;
  std::map<std::uint64_t, std::uint32_t> rows;
  for (std::uint32_t row = 0; row < were.size(); ++row) rows.emplace(were[row], row);
  Table matched;
  matched.rows = tgids.size();
  for (const Column& from : processes.columns) {
    Column& column = matched.add(from.def(), Gap::ThreadGone);
    column.provenance = from.provenance;
    for (std::uint32_t row = 0; row < tgids.size(); ++row)
      if (const auto was = rows.find(tgids[row]); was != rows.end())
        column.take(row, from, was->second);
  }
  Column& ids = *matched.find(kProcessTgid);
  std::ranges::copy(tgids, ids.u64().begin());
  std::ranges::fill(ids.gaps(), CTPROF_VALUE);
  processes = std::move(matched);
}

// A thread that replaced its leader by exec has the identity of the exited leader. Its previous id
// is not in the file. It gets thread id 0, which no thread has, so that the two rows are
// distinguishable at the beginning.
void separate_names(Table& threads, std::size_t living) {
  const auto names = names_of(threads);
  std::set<ThreadName> taken;
  for (std::size_t row = living; row < names.size(); ++row) {
    const bool is_first = taken.insert(names[row]).second;
    if (names[row].is_leader() && !is_first) threads.find(kTid)->u64()[row] = 0;
  }
  for (std::size_t row = 0; row < living; ++row)
    if (names[row].is_leader() && taken.contains(names[row])) threads.find(kTid)->u64()[row] = 0;
}

// Removes definitions of columns that were removed.
void forget_lost_columns(Snapshot& snapshot) {
  std::erase_if(snapshot.unknown_definitions.of_metrics, [&](const auto& of_metric) {
    return std::ranges::none_of(snapshot.tables, [&](const Table& table) {
      return table.find(of_metric.first) != nullptr;
    });
  });
}

}  // namespace

Snapshot begin_of(Snapshot window) {
  const Window what = *std::exchange(window.window, std::nullopt);
  separate_names(window.threads(), what.living);
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    Table& table = window.tables[entity];
    const auto rows = rows_then(table, what.openings[entity]);
    if (entity == static_cast<std::size_t>(Entity::Thread) && what.seen.size() == table.rows)
      for (const std::uint32_t row : rows) window.read_at.push_back(what.seen[row].first);
    table = table_then(table, what.openings[entity], rows);
  }
  if (what.opening_only) restore_threads(window, *what.opening_only);
  match_processes(window.table(Entity::Process), window.threads());
  if (what.opening_only) restore_processes_and_cgroups(window, *what.opening_only);
  forget_lost_columns(window);
  window.meta.start = window.meta.end = what.opened;
  window.born_at.clear();
  window.unknown_keys = {};
  window.unknown_tables.clear();  // contains the values at the end
  window.unknown_window.clear();
  std::erase_if(window.objects, [](const auto& object) { return object.first != kHostContext; });
  if (!what.host.empty()) window.objects[kHostContext] = what.host;
  return window;
}

namespace {

// Returns the living threads of a window with their identities and recorded columns.
Snapshot recorded_in(const Snapshot& window) {
  Snapshot recorded;
  recorded.meta = window.meta;
  Table& threads = recorded.threads();
  threads.rows = window.window->living;
  for (const Column& column : window.threads().columns) {
    const std::string& name = column.def().name;
    const bool names = name == kTgid || name == kTid || name == kStartTime;
    if (!names && !is_recorded(column.def())) continue;
    Column& copy = threads.add(column.def(), Gap::Untouched);
    for (std::uint32_t row = 0; row < threads.rows; ++row)
      copy_cell(copy, row, *recorded.pools, column, row, *window.pools);
  }
  return recorded;
}

// Returns the row in the window of each thread of `recorded`; kNoRow: none. If two threads have one
// identity, an exited one precedes the living one that replaced it.
std::vector<std::uint32_t> rows_now(const Snapshot& recorded, const Snapshot& window) {
  std::vector<std::uint32_t> rows(recorded.threads().rows, kNoRow);
  const auto earlier = same_rows(recorded, window, Entity::Thread, {}, {});
  for (std::uint32_t row = 0; row < earlier.size(); ++row)
    if (earlier[row].row != kNoRow) rows[earlier[row].row] = row;
  return rows;
}

// Adds the sets of `more` to those of `column`, row by row. Returns the sets without a row.
std::vector<ctprof_stack> add_sets(Column& column, StackPool& pool, const Column& more,
                                   const StackPool& pool_of_more,
                                   std::span<const std::uint32_t> rows) {
  std::vector<ctprof_stack> nowhere, stacks;
  for (std::uint32_t from = 0; from < rows.size(); ++from) {
    if (!more.has_value(from)) continue;
    const std::uint32_t row = rows[from];
    stacks.clear();
    pool.gather(pool_of_more, more.ids()[from], row == kNoRow ? nowhere : stacks);
    if (row == kNoRow) continue;
    if (column.has_value(row)) pool.gather(pool, column.ids()[row], stacks);
    column.ids()[row] = pool.append(stacks);
    column.gaps()[row] = CTPROF_VALUE;
  }
  return nowhere;
}

// Same for numbers; returns the sum of counters without a row.
std::uint64_t add_numbers(Column& column, const Column& more, std::span<const std::uint32_t> rows) {
  std::uint64_t nowhere = 0;
  for (std::uint32_t from = 0; from < rows.size(); ++from) {
    if (!more.has_value(from)) continue;
    const std::uint64_t number = more.u64()[from];
    if (rows[from] != kNoRow)
      add_number(column, rows[from], number);
    else if (counts_up(more.def()))
      nowhere += number;
  }
  return nowhere;
}

}  // namespace

// Adds the recorded columns of the previous windows.
void Laps::add_recorded(Snapshot& window) {
  const auto rows = rows_now(recorded_, window);
  for (const Column& more : recorded_.threads().columns) {
    if (!is_recorded(more.def())) continue;
    Column* column = window.threads().find(more.def().name);
    if (!column) column = &window.threads().add(more.def(), Gap::NotInFile);
    if (!same_meaning(column->def(), more.def()) || !is_recorded(column->def())) continue;
    const std::uint64_t nowhere =
        more.def().storage == Storage::Stacks
            ? total_of(add_sets(*column, window.pools->stacks, more, recorded_.pools->stacks, rows))
            : add_numbers(*column, more, rows);
    if (nowhere > 0)
      notes_.push_back(std::to_string(nowhere) + " " + more.def().unit + " of " + more.def().name +
                       " are of threads that are in no row");
  }
}

void Laps::add_covered(const Snapshot& window) {
  for (const StackTally& tally : window.meta.stacks) {
    auto& sum = covered_.try_emplace({tally.plugin, tally.source}, 0).first->second;
    sum = sum && tally.covered_ns ? std::optional(*sum + *tally.covered_ns) : std::nullopt;
  }
}

Laps::Laps(Snapshot first) : knows_opening_(first.window->opening_only != nullptr) {
  note_births(first);
  take_ended(first);
  add_covered(first);
  recorded_ = recorded_in(first);
  begin_ = begin_of(std::move(first));
}

void Laps::add(Snapshot window) {
  add_recorded(window);
  note_births(window);
  take_ended(window);
  add_covered(window);
  recorded_ = recorded_in(window);
  last_ = std::move(window);
}

// In a file, only the time at which a thread was first seen has its start in nanoseconds; its start
// time has the resolution of a clock tick.
void Laps::note_births(const Snapshot& window) {
  const Window& what = *window.window;
  const auto& born = what.openings[static_cast<std::size_t>(Entity::Thread)].born;
  const auto names = names_of(window.threads());
  if (what.seen.size() != names.size()) return;
  for (std::size_t row = 0; row < names.size(); ++row)
    if (born[row] != 0)
      births_.try_emplace(names[row], what.opened.boottime_ns + what.seen[row].first);
}

void Laps::restore_births(Snapshot& whole) const {
  Window& window = *whole.window;
  const auto& born = window.openings[static_cast<std::size_t>(Entity::Thread)].born;
  const auto names = names_of(whole.threads());
  for (std::size_t row = 0; row < window.seen.size(); ++row) {
    const auto known = born[row] != 0 ? births_.find(names[row]) : births_.end();
    if (known == births_.end()) continue;
    const std::uint64_t first = known->second - std::min(known->second, window.opened.boottime_ns);
    window.seen[row].first = std::min(first, window.seen[row].last);
  }
}

// Appends the threads that exited in the window to those of the previous windows.
void Laps::take_ended(const Snapshot& window) {
  const Window& what = *window.window;
  append_ended(window);
  for (std::size_t row = what.living; row < window.threads().rows; ++row)
    ended_.at_ns.push_back(what.seen.empty() ? window.meta.start.boottime_ns
                                             : what.opened.boottime_ns + what.seen[row].last);
  ended_.lost += what.ended_lost;
  ended_.unseen += what.ended_unseen;
  ended_.merged += what.ended_merged;
  sees_ends_ = sees_ends_ && what.sees_ends;
  partial_ = partial_ || what.partial;
  for (const std::string& note : what.notes)
    if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
}

void Laps::append_ended(const Snapshot& window) {
  const Table& threads = window.threads();
  Table& ended = ended_.rows.threads();
  const std::size_t first = ended.rows, living = window.window->living;
  for (const Column& column : threads.columns)
    if (!ended.find(column.def().name)) ended.add(column.def(), Gap::Untouched);
  ended.rows += threads.rows - living;
  for (Column& column : ended.columns) {
    column.resize(ended.rows, Gap::Untouched);
    const Column* from = threads.find(column.def().name);
    if (!from || !same_meaning(from->def(), column.def())) continue;
    for (std::size_t row = living; row < threads.rows; ++row)
      copy_cell(column, static_cast<std::uint32_t>(first + row - living), *ended_.rows.pools, *from,
                static_cast<std::uint32_t>(row), *window.pools);
  }
}

namespace {

bool defines_otherwise(const Snapshot& snapshot, const Column& column) {
  const Column* known = snapshot.threads().find(column.def().name);
  return known && !same_meaning(known->def(), column.def());
}

// Returns the closing snapshot, and also the recorded columns, which closing_snapshot() omits.
Snapshot end_with_recorded(Snapshot window) {
  std::deque<Column>& columns = window.threads().columns;
  const auto first =
      std::stable_partition(columns.begin(), columns.end(),
                            [](const Column& column) { return !is_recorded(column.def()); });
  std::deque<Column> recorded;
  std::move(first, columns.end(), std::back_inserter(recorded));
  columns.erase(first, columns.end());
  Snapshot end = end_of(std::move(window));
  for (Column& column : recorded) {
    column.resize(end.threads().rows, Gap::Untouched);
    end.threads().columns.push_back(std::move(column));
  }
  return end;
}

}  // namespace

Result<Snapshot> Laps::join() && {
  // Start times are already resolved, and files may define one metric differently.
  std::erase_if(ended_.rows.threads().columns, [&](const Column& column) {
    return column.def().name == kStartWithin || defines_otherwise(begin_, column) ||
           defines_otherwise(*last_, column);
  });
  ended_.told = sees_ends_;
  auto whole = make_window(begin_, end_with_recorded(std::move(*last_)), std::move(ended_),
                           "the first window", "the last");
  if (!whole) return whole;
  for (const Column& column : whole->threads().columns)
    if (is_recorded(column.def()) && counts_up(column.def())) begin_at_zero(*whole, column);
  restore_births(*whole);
  Window& window = *whole->window;
  window.partial = partial_;
  if (!knows_opening_) window.opening_only.reset();
  for (StackTally& tally : whole->meta.stacks)
    tally.covered_ns = covered_[{tally.plugin, tally.source}];
  window.notes.insert(window.notes.begin(), notes_.begin(), notes_.end());
  return whole;
}

}  // namespace ctprof
