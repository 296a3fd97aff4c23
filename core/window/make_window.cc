#include "core/window/make_window.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/registry/identity.hpp"
#include "core/window/complete_ended.hpp"
#include "core/window/happened.hpp"
#include "core/window/infer_take_overs.hpp"
#include "core/window/merge_ended.hpp"
#include "core/window/opening_only.hpp"
#include "core/window/same_rows.hpp"
#include "core/window/thread_names.hpp"

namespace ctprof {
namespace {

Result<void> check_ends(const Meta& before, const Meta& after, const std::string& before_name,
                        const std::string& after_name) {
  const std::string ends = before_name + ".." + after_name;
  if (before.boot_id.empty() || before.boot_id != after.boot_id)
    return error("making a window of", ends,
                 "they are of different boots; compare them with --lifetime");
  if (after.start.boottime_ns < before.start.boottime_ns)
    return error("making a window of", ends,
                 "the second was captured before the first: exchange them");
  return {};
}

// --- exited threads ---

// Returns whether another thread replaced this exited leader by exec.
bool was_replaced(const ThreadName& name, std::uint64_t ended_at,
                  std::span<const TookOver> took_over) {
  return name.tid == name.tgid && std::ranges::any_of(took_over, [&](const TookOver& exec) {
           return exec.tgid == name.tgid && exec.at_ns >= ended_at;
         });
}

// Restores the id of a replaced leader, which may have got the other thread's id before it exited.
// It is recognized by its start time, which its successor also has.
void rename_old_leaders(const Snapshot& before, const Snapshot& after, Ended& ended) {
  if (ended.took_over.empty()) return;
  std::vector<ThreadName> known = names_of(before.threads()), leaders = known;
  for (const Snapshot* listed : {&after, &std::as_const(ended.rows)})
    std::ranges::copy_if(names_of(listed->threads()), std::back_inserter(leaders),
                         [](const ThreadName& name) { return name.tid == name.tgid; });
  std::ranges::sort(known);
  std::ranges::sort(leaders);
  const std::vector<ThreadName> names = names_of(ended.rows.threads());
  for (std::size_t row = 0; row < names.size(); ++row) {
    const bool took_turns = std::ranges::any_of(ended.took_over, [&](const TookOver& exec) {
      return exec.tgid == names[row].tgid && exec.tid == names[row].tid;
    });
    const ThreadName as_leader{names[row].tgid, names[row].tgid, names[row].start};
    if (took_turns && !std::ranges::binary_search(known, names[row]) &&
        std::ranges::binary_search(leaders, as_leader))
      ended.rows.threads().find(kTid)->u64()[row] = as_leader.tid;
  }
}

// Returns the time until which a snapshot listed threads, on CLOCK_BOOTTIME.
std::uint64_t listed_until(const Snapshot& snapshot) {
  if (snapshot.read_at.empty())
    return std::max(snapshot.meta.start.boottime_ns, snapshot.meta.end.boottime_ns);
  return snapshot.meta.start.boottime_ns + *std::ranges::max_element(snapshot.read_at);
}

// Rows of exited threads by window; all other rows exited before this window.
struct Sorted {
  std::vector<std::uint32_t> inside;  // in (tgid, tid, start) order
  std::vector<std::uint32_t> later;
};

// Rows in the window are threads that only the first snapshot has, and threads that started and
// exited between both.
Sorted sort_out(const Snapshot& before, const Snapshot& after, const Ended& ended) {
  const std::vector<ThreadName> names = names_of(ended.rows.threads());
  const auto earlier = same_rows(before, ended.rows, Entity::Thread, ended.took_over, ended.at_ns);
  const std::uint64_t first = listed_until(before), last = listed_until(after);
  std::vector<ThreadName> alive = names_of(after.threads());
  std::ranges::sort(alive);
  Sorted rows;
  for (std::uint32_t row = 0; row < names.size(); ++row) {
    if (!ended.rows.threads().find(kTid)->has_value(row)) continue;  // its source failed
    const bool inside = ended.at_ns[row] > first && ended.at_ns[row] <= last;
    const bool lives = std::ranges::binary_search(alive, names[row]) &&
                       !was_replaced(names[row], ended.at_ns[row], ended.took_over);
    if (!lives && (earlier[row].row != kNoRow || inside))
      rows.inside.push_back(row);
    else if (lives || ended.at_ns[row] > last)
      rows.later.push_back(row);
  }
  std::ranges::sort(rows.inside, [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(names[a], ended.at_ns[a]) < std::tie(names[b], ended.at_ns[b]);
  });
  return rows;
}

// Returns the gap of unknown cells of an exited thread. A gauge does not apply to it.
Gap gap_when_ended(const MetricDef& def) {
  const bool may_be_told = counts_up(def) || is_recorded(def);
  return may_be_told ? Gap::ThreadGone : Gap::NotApplicable;
}

// Adds these rows after the living threads. Returns their exit times.
std::vector<std::uint64_t> append_ended(Snapshot& after, const Ended& ended,
                                        std::span<const std::uint32_t> rows) {
  Table& threads = after.threads();
  const Table& from = ended.rows.threads();
  const std::size_t living = threads.rows;
  if (from.find(kThreads)) count_threads(threads);
  threads.rows += rows.size();
  for (Column& column : threads.columns) {
    column.resize(threads.rows, gap_when_ended(column.def()));
    const Column* known = from.find(column.def().name);
    if (!known || !same_meaning(known->def(), column.def())) continue;
    for (std::size_t at = 0; at < rows.size(); ++at)
      if (known->gap(rows[at]) != Gap::Untouched)
        copy_cell(column, static_cast<std::uint32_t>(living + at), *after.pools, *known, rows[at],
                  *ended.rows.pools);
  }
  const Column* born = from.find(kBornAt);
  if (born && after.born_at.size() == living)
    for (const std::uint32_t row : rows)
      after.born_at.push_back(born->has_value(row) ? born->u64()[row] : 0);
  std::vector<std::uint64_t> at_ns(rows.size());
  std::ranges::transform(rows, at_ns.begin(), [&](std::uint32_t row) { return ended.at_ns[row]; });
  return at_ns;
}

// Keeps only the rows and events of later windows. `closing_read_ns`: start of the reading at the
// window's end, which listed every process that lived then.
void leave(Ended& ended, std::span<const std::uint32_t> rows, std::uint64_t read,
           std::uint64_t until) {
  ended.rows.threads().keep(rows);
  std::vector<std::uint64_t> at_ns;
  for (const std::uint32_t row : rows) at_ns.push_back(ended.at_ns[row]);
  ended.at_ns = std::move(at_ns);
  std::erase_if(ended.took_over, [&](const TookOver& exec) { return exec.at_ns <= until; });
  std::erase_if(ended.births, [&](const Birth& birth) { return birth.at_ns <= read; });
}

// --- earlier readings of rows ---

// Returns whether the reading at the opening is stored.
bool has_opening(const MetricDef& def) {
  if (is_recorded(def)) return false;
  return counts_up(def) || def.family == "gauge" || def.family == "limit" ||
         def.family == "categorical";
}

// Sets the base of a counter in a new row: zero.
void put_nothing(Column& column, std::uint32_t row, Pools& pools) {
  if (column.def().storage == Storage::Map)
    column.ids()[row] = pools.maps.append_pooled({});
  else if (column.def().storage == Storage::Array)
    column.ids()[row] = pools.words.intern({});
  column.gaps()[row] = CTPROF_VALUE;
}

Column opening_of(const Column& now, const Column& then, std::span<const Earlier> earlier,
                  Pools& pools, const Pools& pools_then) {
  Column column(now.def(), now.rows(), Gap::NoBase);
  for (std::uint32_t row = 0; row < earlier.size(); ++row) {
    if (earlier[row].row != kNoRow) {
      copy_cell(column, row, pools, then, earlier[row].row, pools_then);
    } else if (earlier[row].born && counts_up(now.def())) {
      put_nothing(column, row, pools);
    }
  }
  return column;
}

Opening opening_of(const Snapshot& before, Snapshot& after, Entity entity,
                   std::span<const Earlier> earlier) {
  Opening opening;
  opening.born.resize(earlier.size());
  std::ranges::transform(earlier, opening.born.begin(),
                         [](const Earlier& row) { return row.born ? 1 : 0; });
  for (const Column& now : after.table(entity).columns) {
    const Column* then = before.table(entity).find(now.def().name);
    if (then && has_opening(now.def()) && same_meaning(then->def(), now.def()))
      opening.columns.push_back(opening_of(now, *then, earlier, *after.pools, *before.pools));
  }
  return opening;
}

// Returns the granularity to which the byte counters of these exited threads are rounded down; 0:
// not rounded.
std::vector<std::uint64_t> rounding_of(const Table& ended, std::span<const std::uint32_t> rows) {
  const Column* rounded = ended.find_u64(kBytesRounded);
  std::vector<std::uint64_t> found;
  for (const std::uint32_t row : rows)
    found.push_back(rounded && rounded->has_value(row) ? rounded->u64()[row] : 0);
  return found;
}

// Rounds the bases of byte counters like their final values.
void round_bases(Opening& opening, std::size_t living, std::span<const std::uint64_t> rounded) {
  for (Column& base : opening.columns) {
    if (base.def().unit != "bytes" || base.def().storage != Storage::U64 || !counts_up(base.def()))
      continue;
    for (std::size_t row = 0; row < rounded.size(); ++row)
      if (std::uint64_t& value = base.u64()[living + row]; rounded[row] > 0)
        value -= value % rounded[row];
  }
}

std::string placed_in_words(std::size_t threads) {
  return std::to_string(threads) +
         " threads that exited before they were listed are shown in the cgroup of their parent "
         "process, because only a BPF program sees their own";
}

// Returns the start of the thread on CLOCK_BOOTTIME: in ns if a source reported it, else rounded to
// a tick.
std::uint64_t born_at(const Snapshot& snapshot, std::size_t row) {
  if (row < snapshot.born_at.size() && snapshot.born_at[row] != 0) return snapshot.born_at[row];
  const Column* starts = snapshot.threads().find(kStartTime);
  const std::uint64_t tick = 1'000'000'000 / std::max<std::uint64_t>(snapshot.meta.user_hz, 1);
  return starts && starts->has_value(row) ? starts->u64()[row] * tick : 0;
}

// Returns when threads were read; empty if this is unknown at either end.
std::vector<Seen> seen_of(const Snapshot& before, const Snapshot& after,
                          std::span<const Earlier> earlier,
                          std::span<const std::uint64_t> ended_at) {
  if (before.read_at.size() != before.threads().rows) return {};
  const std::size_t living = earlier.size() - ended_at.size();
  if (after.read_at.size() != living) return {};
  const std::uint64_t opened = before.meta.start.boottime_ns;
  std::vector<Seen> seen(earlier.size());
  for (std::size_t row = 0; row < seen.size(); ++row) {
    const std::uint64_t last =
        row < living ? after.meta.start.boottime_ns + after.read_at[row] : ended_at[row - living];
    seen[row].last = last - std::min(last, opened);
    if (earlier[row].row != kNoRow)
      seen[row].first = before.read_at[earlier[row].row];
    else if (earlier[row].born)
      seen[row].first = born_at(after, row) - std::min(born_at(after, row), opened);
    seen[row].first = std::min(seen[row].first, seen[row].last);
  }
  return seen;
}

// Returns the number of cgroups of `before` that were removed; 0 unless both snapshots have all
// cgroups.
std::size_t cgroups_gone(const Snapshot& before, const Snapshot& after,
                         std::span<const Earlier> earlier) {
  for (const Snapshot* end : {&before, &after})
    if (!knows_all_cgroups(*end)) return 0;
  const auto same =
      std::ranges::count_if(earlier, [](const Earlier& cgroup) { return cgroup.row != kNoRow; });
  return before.table(Entity::Cgroup).rows - static_cast<std::size_t>(same);
}

std::string gone_in_words(std::size_t cgroups) {
  return cgroups == 1 ? "1 cgroup was removed while the window was open; its last values are "
                        "unknown"
                      : std::to_string(cgroups) +
                            " cgroups were removed while the window was open; their last values "
                            "are unknown";
}

}  // namespace

Result<Snapshot> make_window(const Snapshot& before, Snapshot after, Ended ended,
                             const std::string& before_name, const std::string& after_name) {
  return make_lap(before, std::move(after), ended, before_name, after_name);
}

Result<Snapshot> make_lap(const Snapshot& before, Snapshot after, Ended& ended,
                          const std::string& before_name, const std::string& after_name) {
  if (auto fit = check_ends(before.meta, after.meta, before_name, after_name); !fit)
    return fit.error();
  ended.rows.meta.user_hz = after.meta.user_hz;
  const std::size_t by_parent = complete_ended(before, after, ended);
  infer_take_overs(before, after, ended);
  rename_old_leaders(before, after, ended);
  Window window;
  window.opened = before.meta.start;
  window.living = after.threads().rows;
  window.ended_lost = ended.lost;
  window.ended_unseen = ended.unseen;
  window.ended_merged = std::exchange(ended.merged, 0);
  window.sees_ends = ended.told;
  window.took_over = ended.took_over;
  if (const auto host = before.objects.find(kHostContext); host != before.objects.end())
    window.host = host->second;
  const Sorted rows = sort_out(before, after, ended);
  const std::uint64_t until = listed_until(after);
  const auto ended_at = append_ended(after, ended, rows.inside);
  const auto rounded = rounding_of(ended.rows.threads(), rows.inside);
  if (by_parent > 0) window.notes.push_back(placed_in_words(by_parent));
  window.opening_only = std::make_shared<Snapshot>();
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    const auto which = static_cast<Entity>(entity);
    const auto earlier = same_rows(before, after, which, ended.took_over, ended_at);
    const auto living =
        std::span(earlier).first(which == Entity::Thread ? window.living : earlier.size());
    add_opening_only(*window.opening_only, before, after, which, living);
    if (which == Entity::Thread) window.seen = seen_of(before, after, earlier, ended_at);
    window.openings[entity] = opening_of(before, after, which, earlier);
    if (which == Entity::Thread) round_bases(window.openings[entity], window.living, rounded);
    const std::size_t gone = which == Entity::Cgroup ? cgroups_gone(before, after, earlier) : 0;
    if (gone > 0) window.notes.push_back(gone_in_words(gone));
  }
  leave(ended, rows.later, after.meta.start.boottime_ns, until);
  after.read_at.clear();  // the window contains the times of both ends
  after.window = std::move(window);
  return after;
}

Snapshot end_of(Snapshot window) {
  if (!window.window) return window;
  const Window what = *std::exchange(window.window, std::nullopt);
  window.unknown_window.clear();
  std::erase_if(window.meta.sources, [](const auto& source) { return source.stage == "exited"; });
  Table& threads = window.threads();
  threads.rows = what.living;
  std::erase_if(threads.columns, [](const Column& of) {
    return of.def().name == kThreads || is_recorded(of.def());
  });
  for (Column& column : threads.columns) column.resize(what.living, Gap::Untouched);
  KeptKeys& kept = window.unknown_keys[static_cast<std::size_t>(Entity::Thread)];
  for (auto& [path, cells] : kept)
    std::erase_if(cells, [&](const auto& cell) { return cell.first >= what.living; });
  std::erase_if(kept, [](const auto& of_path) { return of_path.second.empty(); });
  if (!window.born_at.empty()) window.born_at.resize(what.living);
  if (what.seen.size() < what.living) return window;
  const std::uint64_t later = window.meta.start.boottime_ns - what.opened.boottime_ns;
  for (std::size_t row = 0; row < what.living; ++row)
    window.read_at.push_back(what.seen[row].last - std::min(what.seen[row].last, later));
  return window;
}

}  // namespace ctprof
