#include "core/window/infer_execs.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/window/differences.hpp"
#include "core/window/match_rows.hpp"
#include "core/window/thread_identities.hpp"

namespace ctprof {
namespace {

// The longest time by which a metric may be read later than its row if the snapshot has no read
// times: a few ticks.
constexpr std::uint64_t kReadTimeToleranceNs = 40'000'000;

// --- one thread at both ends ---

std::uint64_t read_ns(const Snapshot& snapshot, std::uint32_t row) {
  return snapshot.meta.start.boottime_ns +
         (row < snapshot.read_at.size() ? snapshot.read_at[row] : 0);
}

// Returns one letter; empty if it is unknown.
std::string_view state_of(const Snapshot& snapshot, std::uint32_t row) {
  const Column* column = find_role(snapshot.threads().columns, "state", Storage::String);
  return column && column->has_value(row) ? snapshot.pools->texts[column->ids()[row]] : "";
}

// Returns the time that the thread ran and waited for a CPU since its start; nullopt if a part is
// unknown.
std::optional<std::uint64_t> busy_ns(const Snapshot& snapshot, std::uint32_t row) {
  std::uint64_t sum = 0;
  for (const auto& [role, in_progress] :
       {std::pair("run-time", "run-time-in-progress"), {"wait-time", "wait-time-in-progress"}}) {
    const Column* time = find_role(snapshot.threads().columns, role);
    const Column* in_progress_column = find_role(snapshot.threads().columns, in_progress);
    if (!time || !time->has_value(row)) return std::nullopt;
    sum += time->u64()[row];
    if (in_progress_column && in_progress_column->has_value(row))
      sum += in_progress_column->u64()[row];
    else if (state_of(snapshot, row) == "R")
      return std::nullopt;
  }
  return sum;
}

// A counter of threads at both ends.
struct CounterColumns {
  const Column* opening;
  const Column* closing;
};

// At each reading, the kernel divides CPU time into user and system time again, so either may
// decrease.
bool is_reliable_counter(const MetricDef& def) {
  return def.storage == Storage::U64 && counts_up(def) && !is_recorded(def) &&
         def.role != "user-time" && def.role != "system-time";
}

std::vector<CounterColumns> find_counters(const Snapshot& before, const Snapshot& after) {
  std::unordered_map<std::string_view, const Column*, SeededHash> openings;
  for (const Column& column : before.threads().columns)
    openings.emplace(column.def().name, &column);
  std::vector<CounterColumns> counters;
  for (const Column& closing : after.threads().columns) {
    if (!is_reliable_counter(closing.def())) continue;
    const auto opening = openings.find(closing.def().name);
    if (opening != openings.end() && opening->second->def().storage == Storage::U64 &&
        has_same_meaning(opening->second->def(), closing.def()))
      counters.push_back({opening->second, &closing});
  }
  return counters;
}

// The row of a leader at the end, and the row at the opening with its id. Tests which threads of
// the opening can have become this leader.
class Leader {
 public:
  Leader(const Snapshot& before, const Snapshot& after, std::span<const CounterColumns> counters,
         std::uint32_t opening_row, std::uint32_t closing_row)
      : before_(&before),
        after_(&after),
        counters_(counters),
        opening_row_(opening_row),
        closing_row_(closing_row) {}

  // Returns whether the counters of an opening row can have grown to those of the leader.
  bool may_be_predecessor(std::uint32_t row) const {
    return std::ranges::none_of(counters_,
                                [&](const CounterColumns& counter) {
                                  const auto& [opening, closing] = counter;
                                  return opening->has_value(row) &&
                                         closing->has_value(closing_row_) &&
                                         closing->u64()[closing_row_] < opening->u64()[row];
                                }) &&
           !is_too_busy(row);
  }
  // Returns whether all counters of the old leader are unchanged. Then no exec occurred.
  bool is_unchanged() const {
    return std::ranges::all_of(counters_, [&](const CounterColumns& counter) {
      const auto& [opening, closing] = counter;
      return !opening->has_value(opening_row_) || !closing->has_value(closing_row_) ||
             closing->u64()[closing_row_] == opening->u64()[opening_row_];
    });
  }
  // Returns whether it ran and waited for more than the time since the opening.
  bool is_too_busy(std::uint32_t row) const {
    const auto opening_busy = busy_ns(*before_, row), closing_busy = busy_ns(*after_, closing_row_);
    return opening_busy && closing_busy && *closing_busy > *opening_busy + wall_ns();
  }
  // Same for a thread that started in the window.
  bool is_too_busy_for_a_new_thread() const {
    const auto busy = busy_ns(*after_, closing_row_);
    return busy && *busy > wall_ns();
  }
  // Returns whether some counter of the row exceeds the old leader's. The window would then include
  // a part of that thread's earlier life.
  bool exceeds_leader(std::uint32_t row) const {
    return std::ranges::any_of(counters_, [&](const CounterColumns& counter) {
      const Column& opening = *counter.opening;
      return opening.has_value(row) && opening.has_value(opening_row_) &&
             opening.u64()[row] > opening.u64()[opening_row_];
    });
  }

 private:
  std::uint64_t wall_ns() const {
    const std::uint64_t from = read_ns(*before_, opening_row_), to = read_ns(*after_, closing_row_);
    const std::uint64_t tolerance =
        std::max(kReadTimeToleranceNs, before_->meta.thread_skew_ns.value_or(0) +
                                           after_->meta.thread_skew_ns.value_or(0));
    return to - std::min(from, to) + tolerance;
  }

  const Snapshot* before_;
  const Snapshot* after_;
  std::span<const CounterColumns> counters_;
  std::uint32_t opening_row_, closing_row_;
};

// Rows by thread identity; rows of one identity keep their order.
class RowsByIdentity {
 public:
  struct Entry {
    ThreadIdentity name;
    std::uint32_t row;
  };

  explicit RowsByIdentity(const Table& threads) {
    const auto names = thread_identities(threads);
    for (std::uint32_t row = 0; row < names.size(); ++row) entries_.push_back({names[row], row});
    if (!std::ranges::is_sorted(entries_, {}, &Entry::name))
      std::ranges::stable_sort(entries_, {}, &Entry::name);
  }

  std::span<const Entry> all() const { return entries_; }
  bool contains(const ThreadIdentity& name) const { return find(name) != nullptr; }
  // Returns the first row of that identity, or null.
  const Entry* find(const ThreadIdentity& name) const {
    const auto it = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
    return it == entries_.end() || it->name != name ? nullptr : &*it;
  }
  std::span<const Entry> of_process(std::uint64_t tgid) const {
    const auto by_process = [](const Entry& entry) { return entry.name.tgid; };
    return {std::ranges::lower_bound(entries_, tgid, {}, by_process),
            std::ranges::upper_bound(entries_, tgid, {}, by_process)};
  }

 private:
  std::vector<Entry> entries_;
};

// --- all threads ---

class Inference {
 public:
  Inference(const Snapshot& before, const Snapshot& after, ExitedThreads& exited)
      : before_(&before),
        after_(&after),
        exited_(&exited),
        counters_(find_counters(before, after)),
        opening_rows_(before.threads()),
        closing_rows_(after.threads()),
        exits_(exited.rows.threads()) {
    for (const LeaderReplacement& exec : exited.execs) processes_with_exec_.insert(exec.tgid);
  }

  void run() {
    const auto exits = exits_.all();
    for (auto first = exits.begin(); first != exits.end();) {
      const auto last = std::find_if(first, exits.end(),
                                     [&](const auto& entry) { return entry.name != first->name; });
      if (first->name.is_leader()) infer_from_exits(first->name, {first, last});
      first = last;
    }
    const bool has_all_exits = exited_->has_source && exited_->lost == 0 && exited_->unseen == 0;
    if (!has_all_exits) infer_from_all_counters();
    std::ranges::stable_sort(exited_->execs, {}, &LeaderReplacement::at_ns);
  }

 private:
  using Entry = RowsByIdentity::Entry;
  static constexpr LeaderReplacement kUnknownExec{};

  // At one time, a process has one leader. Further ones in a file are ignored.
  void infer_from_all_counters() {
    const Entry* last_leader = nullptr;
    for (const Entry& entry : opening_rows_.all()) {
      if (!entry.name.is_leader() || (last_leader && last_leader->name.tgid == entry.name.tgid))
        continue;
      last_leader = &entry;
      infer_from_counters(entry);
    }
  }

  // Infers execs from exits of a leader whose id another thread got later.
  void infer_from_exits(const ThreadIdentity& name, std::span<const Entry> exits) {
    if (processes_with_exec_.contains(name.tgid)) return;
    const Entry *closing_entry = closing_rows_.find(name),
                *opening_entry = opening_rows_.find(name);
    std::vector<std::uint64_t> exit_times;
    for (const Entry& exit : exits)
      if (is_inside(exited_->exit_ns[exit.row], opening_entry, closing_entry))
        exit_times.push_back(exited_->exit_ns[exit.row]);
    std::ranges::sort(exit_times);
    const bool is_living = closing_entry && is_alive(*closing_entry);
    if (!is_living && !exit_times.empty())
      exit_times.pop_back();  // the exit of the last owner of the id
    for (const std::uint64_t at : exit_times)
      add(name, exit_times.size() == 1 ? find_exec_thread(name) : kUnknownExec, at + 1);
  }

  bool is_inside(std::uint64_t at, const Entry* opening_entry, const Entry* closing_entry) const {
    return (!opening_entry || at > read_ns(*before_, opening_entry->row)) &&
           (!closing_entry || at < read_ns(*after_, closing_entry->row));
  }

  // An exited leader is listed until its process is reaped.
  bool is_alive(const Entry& leader) {
    const std::string_view state = state_of(*after_, leader.row);
    return !state.empty() && state != "Z" && state != "X" && !has_survivors(leader.name);
  }

  // Returns whether other threads of the process lived at both ends: exec kills them all.
  bool has_survivors(const ThreadIdentity& leader) {
    const auto [known, is_new] = has_survivors_.try_emplace(leader.tgid, false);
    if (is_new)
      known->second =
          std::ranges::any_of(opening_rows_.of_process(leader.tgid), [&](const Entry& other) {
            return !other.name.is_leader() && closing_rows_.contains(other.name);
          });
    return known->second;
  }

  // Returns the other threads of the process that existed at the opening and neither live nor
  // exited.
  std::vector<Entry> find_missing_threads(const ThreadIdentity& leader) const {
    std::vector<Entry> found;
    std::ranges::copy_if(opening_rows_.of_process(leader.tgid), std::back_inserter(found),
                         [&](const Entry& other) {
                           return !other.name.is_leader() && !closing_rows_.contains(other.name) &&
                                  !exits_.contains(other.name);
                         });
    return found;
  }

  LeaderReplacement find_exec_thread(const ThreadIdentity& leader) const {
    const auto others = find_missing_threads(leader);
    if (others.size() == 1) return exec_of(others[0]);
    if (!others.empty() || exited_->lost > 0 || exited_->unseen > 0) return kUnknownExec;
    return {0, 0, first_start_in_window(), 0};
  }
  static LeaderReplacement exec_of(const Entry& thread) {
    return {0, thread.name.tid, thread.name.start, 0};
  }

  std::uint64_t first_start_in_window() const {
    return before_->meta.start.boottime_ns / ns_per_tick(after_->meta.user_hz) + 1;
  }

  void infer_from_counters(const Entry& opening_entry) {
    const ThreadIdentity& name = opening_entry.name;
    const Entry* closing_entry = closing_rows_.find(name);
    if (!closing_entry || processes_with_exec_.contains(name.tgid) || has_survivors(name)) return;
    const Leader leader(*before_, *after_, counters_, opening_entry.row, closing_entry->row);
    if (leader.is_unchanged()) return;
    const auto others = find_missing_threads(name);
    std::vector<Entry> candidates;
    std::ranges::copy_if(others, std::back_inserter(candidates),
                         [&](const Entry& other) { return leader.may_be_predecessor(other.row); });
    const std::uint64_t at = after_->meta.start.boottime_ns;
    const bool may_be_leader = others.empty() ? !leader.is_too_busy(opening_entry.row)
                                              : leader.may_be_predecessor(opening_entry.row);
    const auto exceeds_leader_counters = [&](const Entry& other) {
      return leader.exceeds_leader(other.row);
    };
    if (may_be_leader && std::ranges::none_of(candidates, exceeds_leader_counters)) return;
    const bool is_known =
        !may_be_leader && candidates.size() == 1 && leader.is_too_busy_for_a_new_thread();
    add(name, is_known ? exec_of(candidates[0]) : kUnknownExec, at);
  }

  void add(const ThreadIdentity& leader, LeaderReplacement exec, std::uint64_t at) {
    exec.tgid = leader.tgid;
    exec.at_ns = at;
    exited_->execs.push_back(exec);
    processes_with_exec_.insert(leader.tgid);
  }

  const Snapshot* before_;
  const Snapshot* after_;
  ExitedThreads* exited_;
  std::vector<CounterColumns> counters_;
  RowsByIdentity opening_rows_, closing_rows_, exits_;
  std::set<std::uint64_t> processes_with_exec_;  // processes with a known exec
  std::unordered_map<std::uint64_t, bool, SeededHash> has_survivors_;  // by process
};

}  // namespace

void infer_execs(const Snapshot& before, const Snapshot& after, ExitedThreads& exited) {
  Inference(before, after, exited).run();
}

}  // namespace ctprof
