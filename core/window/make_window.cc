#include "core/window/make_window.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/clock.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/window/complete_exited_threads.hpp"
#include "core/window/differences.hpp"
#include "core/window/infer_execs.hpp"
#include "core/window/match_rows.hpp"
#include "core/window/merge_exited_threads.hpp"
#include "core/window/opening_only_rows.hpp"
#include "core/window/thread_identities.hpp"

namespace ctprof {
namespace {

Result<void> check_snapshots(const Meta& before, const Meta& after, const std::string& before_name,
                             const std::string& after_name) {
  const std::string names = before_name + ".." + after_name;
  if (before.boot_id.empty() || before.boot_id != after.boot_id)
    return error("making a window of", names,
                 "they are of different boots; compare them with --lifetime");
  if (after.start.boottime_ns < before.start.boottime_ns)
    return error("making a window of", names,
                 "the second was captured before the first: exchange them");
  return {};
}

// --- exited threads ---

// Finds execs of threads. Any user can cause as many as there are exited threads, so a lookup does
// not examine all of them.
class ExecLookup {
 public:
  explicit ExecLookup(std::span<const LeaderReplacement> execs) {
    for (const LeaderReplacement& exec : execs) {
      std::uint64_t& last_ns = last_ns_[exec.tgid];
      last_ns = std::max(last_ns, exec.at_ns);
      threads_.emplace(exec.tgid, exec.tid);
    }
  }
  // Returns whether another thread replaced this exited leader by exec.
  bool was_replaced(const ThreadIdentity& name, std::uint64_t exit_ns) const {
    const auto last = name.tid == name.tgid ? last_ns_.find(name.tgid) : last_ns_.end();
    return last != last_ns_.end() && last->second >= exit_ns;
  }
  bool has_exec_of(const ThreadIdentity& name) const {
    return threads_.contains({name.tgid, name.tid});
  }

 private:
  std::map<std::uint64_t, std::uint64_t> last_ns_;  // time of the last exec, by process
  std::set<std::pair<std::uint64_t, std::uint64_t>> threads_;
};

// Restores the id of a replaced leader, which may have got the other thread's id before it exited.
// It is recognized by its start time, which its successor also has.
void restore_leader_ids(const Snapshot& before, const Snapshot& after, ExitedThreads& exited) {
  if (exited.execs.empty()) return;
  std::vector<ThreadIdentity> known = thread_identities(before.threads()), leaders = known;
  for (const Snapshot* snapshot : {&after, &std::as_const(exited.rows)})
    std::ranges::copy_if(thread_identities(snapshot->threads()), std::back_inserter(leaders),
                         [](const ThreadIdentity& name) { return name.tid == name.tgid; });
  std::ranges::sort(known);
  std::ranges::sort(leaders);
  const std::vector<ThreadIdentity> names = thread_identities(exited.rows.threads());
  const ExecLookup execs(exited.execs);
  for (std::size_t row = 0; row < names.size(); ++row) {
    const ThreadIdentity as_leader{names[row].tgid, names[row].tgid, names[row].start};
    if (execs.has_exec_of(names[row]) && !std::ranges::binary_search(known, names[row]) &&
        std::ranges::binary_search(leaders, as_leader))
      exited.rows.threads().find(kTid)->u64()[row] = as_leader.tid;
  }
}

// Returns the time until which a snapshot listed threads, on CLOCK_BOOTTIME.
std::uint64_t last_listed_ns(const Snapshot& snapshot) {
  if (snapshot.read_at.empty())
    return std::max(snapshot.meta.start.boottime_ns, snapshot.meta.end.boottime_ns);
  return snapshot.meta.start.boottime_ns + *std::ranges::max_element(snapshot.read_at);
}

// Rows of exited threads by window; all other rows exited before this window.
struct RowsByWindow {
  std::vector<std::uint32_t> in_window;  // in (tgid, tid, start) order
  std::vector<std::uint32_t> in_later_windows;
};

// Rows in the window are threads that only the first snapshot has, and threads that started and
// exited between both.
RowsByWindow assign_to_windows(const Snapshot& before, const Snapshot& after,
                               const ExitedThreads& exited) {
  const std::vector<ThreadIdentity> names = thread_identities(exited.rows.threads());
  const auto earlier =
      match_rows(before, exited.rows, Entity::Thread, exited.execs, exited.exit_ns);
  const std::uint64_t first = last_listed_ns(before), last = last_listed_ns(after);
  std::vector<ThreadIdentity> living = thread_identities(after.threads());
  std::ranges::sort(living);
  const ExecLookup execs(exited.execs);
  RowsByWindow rows;
  for (std::uint32_t row = 0; row < names.size(); ++row) {
    if (!exited.rows.threads().find(kTid)->has_value(row)) continue;  // its source failed
    const bool has_exited_inside = exited.exit_ns[row] > first && exited.exit_ns[row] <= last;
    const bool is_living = std::ranges::binary_search(living, names[row]) &&
                           !execs.was_replaced(names[row], exited.exit_ns[row]);
    if (!is_living && (earlier[row].row != kNoRow || has_exited_inside))
      rows.in_window.push_back(row);
    else if (is_living || exited.exit_ns[row] > last)
      rows.in_later_windows.push_back(row);
  }
  std::ranges::sort(rows.in_window, [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(names[a], exited.exit_ns[a]) < std::tie(names[b], exited.exit_ns[b]);
  });
  return rows;
}

// Returns the gap of unknown cells of an exited thread. A gauge does not apply to it.
Gap gap_of_exited(const MetricDef& def) {
  const bool can_be_reported = counts_up(def) || is_recorded(def);
  return can_be_reported ? Gap::ThreadGone : Gap::NotApplicable;
}

// Adds these rows after the living threads. Returns their exit times.
std::vector<std::uint64_t> append_exited_rows(Snapshot& after, const ExitedThreads& exited,
                                              std::span<const std::uint32_t> rows) {
  Table& threads = after.threads();
  const Table& from = exited.rows.threads();
  const std::size_t living = threads.rows;
  if (from.find(kThreads)) count_threads(threads);
  threads.rows += rows.size();
  for (Column& column : threads.columns) {
    column.resize(threads.rows, gap_of_exited(column.def()));
    const Column* source_column = from.find(column.def().name);
    if (!source_column || !has_same_meaning(source_column->def(), column.def())) continue;
    for (std::size_t at = 0; at < rows.size(); ++at)
      if (source_column->gap(rows[at]) != Gap::Untouched)
        copy_cell(column, static_cast<std::uint32_t>(living + at), *after.pools, *source_column,
                  rows[at], *exited.rows.pools);
  }
  const Column* start_column = from.find(kStartedAt);
  if (start_column && after.started_at.size() == living)
    for (const std::uint32_t row : rows)
      after.started_at.push_back(start_column->has_value(row) ? start_column->u64()[row] : 0);
  std::vector<std::uint64_t> at_ns(rows.size());
  std::ranges::transform(rows, at_ns.begin(),
                         [&](std::uint32_t row) { return exited.exit_ns[row]; });
  return at_ns;
}

// Keeps only the rows and events of later windows. `closing_read_ns`: start of the reading at the
// window's end, which listed every process that lived then.
void keep_later_rows(ExitedThreads& exited, std::span<const std::uint32_t> rows,
                     std::uint64_t closing_read_ns, std::uint64_t last_listed) {
  exited.rows.threads().keep_rows(rows);
  std::vector<std::uint64_t> at_ns;
  for (const std::uint32_t row : rows) at_ns.push_back(exited.exit_ns[row]);
  exited.exit_ns = std::move(at_ns);
  std::erase_if(exited.execs,
                [&](const LeaderReplacement& exec) { return exec.at_ns <= last_listed; });
  std::erase_if(exited.forks,
                [&](const ForkedProcess& birth) { return birth.forked_ns <= closing_read_ns; });
}

// --- earlier readings of rows ---

// Returns whether the reading at the opening is stored.
bool has_opening(const MetricDef& def) {
  if (is_recorded(def)) return false;
  return counts_up(def) || def.family == "gauge" || def.family == "limit" ||
         def.family == "categorical";
}

// Sets the base of a counter in a new row: zero.
void put_zero(Column& column, std::uint32_t row, Pools& pools) {
  if (column.def().storage == Storage::Map)
    column.ids()[row] = pools.maps.append_pooled({});
  else if (column.def().storage == Storage::Array)
    column.ids()[row] = pools.words.intern({});
  column.gaps()[row] = CTPROF_VALUE;
}

Column make_opening(const Column& closing_column, const Column& opening_column,
                    std::span<const RowMatch> earlier, Pools& pools, const Pools& opening_pools) {
  Column column(closing_column.def(), closing_column.rows(), Gap::NoBase);
  for (std::uint32_t row = 0; row < earlier.size(); ++row) {
    if (earlier[row].row != kNoRow) {
      copy_cell(column, row, pools, opening_column, earlier[row].row, opening_pools);
    } else if (earlier[row].is_new && counts_up(closing_column.def())) {
      put_zero(column, row, pools);
    }
  }
  return column;
}

Opening make_opening(const Snapshot& before, Snapshot& after, Entity entity,
                     std::span<const RowMatch> earlier) {
  Opening opening;
  opening.started.resize(earlier.size());
  std::ranges::transform(earlier, opening.started.begin(),
                         [](const RowMatch& row) { return row.is_new ? 1 : 0; });
  for (const Column& closing_column : after.table(entity).columns) {
    const Column* opening_column = before.table(entity).find(closing_column.def().name);
    if (opening_column && has_opening(closing_column.def()) &&
        has_same_meaning(opening_column->def(), closing_column.def()))
      opening.columns.push_back(
          make_opening(closing_column, *opening_column, earlier, *after.pools, *before.pools));
  }
  return opening;
}

// Returns the granularity to which the byte counters of these exited threads are rounded down; 0:
// not rounded.
std::vector<std::uint64_t> read_rounding(const Table& exited, std::span<const std::uint32_t> rows) {
  const Column* rounding = exited.find_u64(kByteRounding);
  std::vector<std::uint64_t> found;
  for (const std::uint32_t row : rows)
    found.push_back(rounding && rounding->has_value(row) ? rounding->u64()[row] : 0);
  return found;
}

// Rounds the bases of byte counters like their final values.
void round_bases(Opening& opening, std::size_t living, std::span<const std::uint64_t> rounding) {
  for (Column& base : opening.columns) {
    if (base.def().unit != "bytes" || base.def().storage != Storage::U64 || !counts_up(base.def()))
      continue;
    for (std::size_t row = 0; row < rounding.size(); ++row)
      if (std::uint64_t& value = base.u64()[living + row]; rounding[row] > 0)
        value -= value % rounding[row];
  }
}

std::string describe_inherited_cgroups(std::size_t threads) {
  return std::to_string(threads) +
         " threads that exited before they were listed are shown in the cgroup of their parent "
         "process, because only a BPF program sees their own";
}

// Returns the start of the thread on CLOCK_BOOTTIME: in ns if a source reported it, else rounded to
// a tick.
std::uint64_t start_ns(const Snapshot& snapshot, std::size_t row) {
  if (row < snapshot.started_at.size() && snapshot.started_at[row] != 0)
    return snapshot.started_at[row];
  const Column* starts = snapshot.threads().find(kStartTime);
  const std::uint64_t tick = ns_per_tick(snapshot.meta.user_hz);
  return starts && starts->has_value(row) ? starts->u64()[row] * tick : 0;
}

// Returns when threads were read; empty if this is unknown at either end.
std::vector<SeenTimes> read_times_of(const Snapshot& before, const Snapshot& after,
                                     std::span<const RowMatch> earlier,
                                     std::span<const std::uint64_t> exit_ns) {
  if (before.read_at.size() != before.threads().rows) return {};
  const std::size_t living = earlier.size() - exit_ns.size();
  if (after.read_at.size() != living) return {};
  const std::uint64_t opened = before.meta.start.boottime_ns;
  std::vector<SeenTimes> read_times(earlier.size());
  for (std::size_t row = 0; row < read_times.size(); ++row) {
    const std::uint64_t last =
        row < living ? after.meta.start.boottime_ns + after.read_at[row] : exit_ns[row - living];
    read_times[row].last = last - std::min(last, opened);
    if (earlier[row].row != kNoRow)
      read_times[row].first = before.read_at[earlier[row].row];
    else if (earlier[row].is_new)
      read_times[row].first = start_ns(after, row) - std::min(start_ns(after, row), opened);
    read_times[row].first = std::min(read_times[row].first, read_times[row].last);
  }
  return read_times;
}

// Returns the number of cgroups of `before` that were removed; 0 unless both snapshots have all
// cgroups.
std::size_t count_removed_cgroups(const Snapshot& before, const Snapshot& after,
                                  std::span<const RowMatch> earlier) {
  for (const Snapshot* end : {&before, &after})
    if (!has_all_cgroups(*end)) return 0;
  const auto matched =
      std::ranges::count_if(earlier, [](const RowMatch& cgroup) { return cgroup.row != kNoRow; });
  return before.table(Entity::Cgroup).rows - static_cast<std::size_t>(matched);
}

std::string describe_removed_cgroups(std::size_t cgroups) {
  return cgroups == 1 ? "1 cgroup was removed while the window was open; its last values are "
                        "unknown"
                      : std::to_string(cgroups) +
                            " cgroups were removed while the window was open; their last values "
                            "are unknown";
}

}  // namespace

Result<Snapshot> make_window(const Snapshot& before, Snapshot after, ExitedThreads exited,
                             const std::string& before_name, const std::string& after_name) {
  return make_consecutive_window(before, std::move(after), exited, before_name, after_name);
}

Result<Snapshot> make_consecutive_window(const Snapshot& before, Snapshot after,
                                         ExitedThreads& exited, const std::string& before_name,
                                         const std::string& after_name) {
  CTPROF_TRY(check_snapshots(before.meta, after.meta, before_name, after_name));
  exited.rows.meta.user_hz = after.meta.user_hz;
  const std::size_t inherited_cgroups = complete_exited_threads(before, after, exited);
  infer_execs(before, after, exited);
  restore_leader_ids(before, after, exited);
  Window window;
  window.opened_at = before.meta.start;
  window.living_threads = after.threads().rows;
  window.exited_lost = exited.lost;
  window.exited_unknown = exited.unseen;
  window.exited_merged = std::exchange(exited.merged, 0);
  window.reports_exits = exited.has_source;
  window.leader_replacements = exited.execs;
  if (const auto host = before.objects.find(kHostContext); host != before.objects.end())
    window.host_context = host->second;
  const RowsByWindow rows = assign_to_windows(before, after, exited);
  const std::uint64_t last_listed = last_listed_ns(after);
  const auto exit_ns = append_exited_rows(after, exited, rows.in_window);
  const auto rounding = read_rounding(exited.rows.threads(), rows.in_window);
  if (inherited_cgroups > 0) window.notes.push_back(describe_inherited_cgroups(inherited_cgroups));
  window.opening_only = std::make_shared<Snapshot>();
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    const auto table_entity = static_cast<Entity>(entity);
    const auto earlier = match_rows(before, after, table_entity, exited.execs, exit_ns);
    const auto living = std::span(earlier).first(
        table_entity == Entity::Thread ? window.living_threads : earlier.size());
    add_opening_only_rows(*window.opening_only, before, after, table_entity, living);
    if (table_entity == Entity::Thread)
      window.seen_times = read_times_of(before, after, earlier, exit_ns);
    window.openings[entity] = make_opening(before, after, table_entity, earlier);
    if (table_entity == Entity::Thread)
      round_bases(window.openings[entity], window.living_threads, rounding);
    const std::size_t removed =
        table_entity == Entity::Cgroup ? count_removed_cgroups(before, after, earlier) : 0;
    if (removed > 0) window.notes.push_back(describe_removed_cgroups(removed));
  }
  keep_later_rows(exited, rows.in_later_windows, after.meta.start.boottime_ns, last_listed);
  after.read_at.clear();  // the window contains the times of both ends
  after.window = std::move(window);
  return after;
}

Snapshot closing_snapshot(Snapshot window) {
  if (!window.window) return window;
  const Window window_data = *std::exchange(window.window, std::nullopt);
  window.extras->clear_window();
  std::erase_if(window.meta.sources, [](const auto& source) { return source.stage == "exited"; });
  Table& threads = window.threads();
  threads.rows = window_data.living_threads;
  std::erase_if(threads.columns, [](const Column& column) {
    return column.def().name == kThreads || is_recorded(column.def());
  });
  for (Column& column : threads.columns) column.resize(window_data.living_threads, Gap::Untouched);
  KeptKeys& unknown_cells = window.extras->unknown_keys[static_cast<std::size_t>(Entity::Thread)];
  for (auto& [path, cells] : unknown_cells)
    std::erase_if(cells,
                  [&](const auto& cell) { return cell.first >= window_data.living_threads; });
  std::erase_if(unknown_cells, [](const auto& entry) { return entry.second.empty(); });
  if (!window.started_at.empty()) window.started_at.resize(window_data.living_threads);
  if (window_data.seen_times.size() < window_data.living_threads) return window;
  const std::uint64_t offset_ns = window.meta.start.boottime_ns - window_data.opened_at.boottime_ns;
  for (std::size_t row = 0; row < window_data.living_threads; ++row)
    window.read_at.push_back(window_data.seen_times[row].last -
                             std::min(window_data.seen_times[row].last, offset_ns));
  return window;
}

}  // namespace ctprof
