#include "core/window/infer_take_overs.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/window/happened.hpp"
#include "core/window/same_rows.hpp"
#include "core/window/thread_names.hpp"

namespace ctprof {
namespace {

// How much later than its row a metric may be read if the snapshot has no read times: a few ticks.
constexpr std::uint64_t kReadingsApartNs = 40'000'000;

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
    const Column* more = find_role(snapshot.threads().columns, in_progress);
    if (!time || !time->has_value(row)) return std::nullopt;
    sum += time->u64()[row];
    if (more && more->has_value(row))
      sum += more->u64()[row];
    else if (state_of(snapshot, row) == "R")
      return std::nullopt;
  }
  return sum;
}

// The row of a leader at the end, and the row at the opening with its id. Tests which threads of
// the opening can have become this leader.
class Leader {
 public:
  Leader(const Snapshot& before, const Snapshot& after, std::uint32_t then, std::uint32_t now)
      : before_(&before), after_(&after), then_(then), now_(now) {}

  // Returns whether the counters of an opening row can have grown to those of the leader.
  bool fits(std::uint32_t row) const {
    return std::ranges::none_of(after_->threads().columns,
                                [&](const Column& end) {
                                  const Column* base = base_of(end);
                                  return base && base->has_value(row) && end.has_value(now_) &&
                                         end.u64()[now_] < base->u64()[row];
                                }) &&
           !is_too_busy(row);
  }
  // Returns whether all counters of the old leader are unchanged. Then no exec occurred.
  bool is_unchanged() const {
    return std::ranges::all_of(after_->threads().columns, [&](const Column& end) {
      const Column* base = base_of(end);
      return !base || !base->has_value(then_) || !end.has_value(now_) ||
             end.u64()[now_] == base->u64()[then_];
    });
  }
  // Returns whether it ran and waited for more than the time since the opening.
  bool is_too_busy(std::uint32_t row) const {
    const auto busy_then = busy_ns(*before_, row), busy_now = busy_ns(*after_, now_);
    return busy_then && busy_now && *busy_now > *busy_then + wall_ns();
  }
  // Same for a thread that started in the window.
  bool is_too_busy_for_a_new_thread() const {
    const auto busy = busy_ns(*after_, now_);
    return busy && *busy > wall_ns();
  }
  // Returns whether some counter of the row exceeds the old leader's. The window would then include
  // a part of that thread's earlier life.
  bool exceeds_leader(std::uint32_t row) const {
    return std::ranges::any_of(after_->threads().columns, [&](const Column& end) {
      const Column* base = base_of(end);
      return base && base->has_value(row) && base->has_value(then_) &&
             base->u64()[row] > base->u64()[then_];
    });
  }

 private:
  // The kernel divides CPU time into user and system time anew at each reading, so either may
  // decrease.
  const Column* base_of(const Column& end) const {
    const MetricDef& def = end.def();
    if (def.storage != Storage::U64 || !counts_up(def) || is_recorded(def) ||
        def.role == "user-time" || def.role == "system-time")
      return nullptr;
    const Column* base = before_->threads().find_u64(def.name);
    return base && same_meaning(base->def(), def) ? base : nullptr;
  }
  std::uint64_t wall_ns() const {
    const std::uint64_t from = read_ns(*before_, then_), to = read_ns(*after_, now_);
    const std::uint64_t apart =
        std::max(kReadingsApartNs, before_->meta.thread_skew_ns.value_or(0) +
                                       after_->meta.thread_skew_ns.value_or(0));
    return to - std::min(from, to) + apart;
  }

  const Snapshot* before_;
  const Snapshot* after_;
  std::uint32_t then_, now_;
};

// Rows by thread identity; rows of one identity keep their order.
class RowsByName {
 public:
  struct Entry {
    ThreadName name;
    std::uint32_t row;
  };

  explicit RowsByName(const Table& threads) {
    const auto names = names_of(threads);
    for (std::uint32_t row = 0; row < names.size(); ++row) entries_.push_back({names[row], row});
    if (!std::ranges::is_sorted(entries_, {}, &Entry::name))
      std::ranges::stable_sort(entries_, {}, &Entry::name);
  }

  std::span<const Entry> all() const { return entries_; }
  bool contains(const ThreadName& name) const { return find(name) != nullptr; }
  // Returns the first row of that identity, or null.
  const Entry* find(const ThreadName& name) const {
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
  Inference(const Snapshot& before, const Snapshot& after, Ended& ended)
      : before_(&before),
        after_(&after),
        ended_(&ended),
        then_(before.threads()),
        now_(after.threads()),
        exits_(ended.rows.threads()) {
    for (const TookOver& exec : ended.took_over) known_.insert(exec.tgid);
  }

  void run() {
    const auto exits = exits_.all();
    for (auto first = exits.begin(); first != exits.end();) {
      const auto last = std::find_if(first, exits.end(),
                                     [&](const auto& entry) { return entry.name != first->name; });
      if (first->name.is_leader()) follow_exits(first->name, {first, last});
      first = last;
    }
    const bool knows_all = ended_->told && ended_->lost == 0 && ended_->unseen == 0;
    for (const Entry& entry : then_.all())
      if (entry.name.is_leader() && !knows_all) compare_counters(entry);
    std::ranges::stable_sort(ended_->took_over, {}, &TookOver::at_ns);
  }

 private:
  using Entry = RowsByName::Entry;
  static constexpr TookOver kUnknown{};

  // Infers execs from exits of a leader whose id another thread got later.
  void follow_exits(const ThreadName& name, std::span<const Entry> exits) {
    if (known_.contains(name.tgid)) return;
    const Entry *now = now_.find(name), *then = then_.find(name);
    std::vector<std::uint64_t> ends;
    for (const Entry& exit : exits)
      if (is_inside(ended_->at_ns[exit.row], then, now)) ends.push_back(ended_->at_ns[exit.row]);
    std::ranges::sort(ends);
    const bool lives = now && is_alive(*now);
    if (!lives && !ends.empty()) ends.pop_back();  // the exit of the last owner of the id
    for (const std::uint64_t at : ends)
      add(name, ends.size() == 1 ? taker(name) : kUnknown, at + 1);
  }

  bool is_inside(std::uint64_t at, const Entry* then, const Entry* now) const {
    return (!then || at > read_ns(*before_, then->row)) &&
           (!now || at < read_ns(*after_, now->row));
  }

  // An exited leader is listed until its process is reaped.
  bool is_alive(const Entry& leader) const {
    const std::string_view state = state_of(*after_, leader.row);
    return !state.empty() && state != "Z" && state != "X" && !has_survivors(leader.name);
  }

  // Returns whether other threads of the process lived at both ends: exec kills them all.
  bool has_survivors(const ThreadName& leader) const {
    return std::ranges::any_of(then_.of_process(leader.tgid), [&](const Entry& other) {
      return !other.name.is_leader() && now_.contains(other.name);
    });
  }

  // Returns the other threads of the process that existed at the opening and neither live nor
  // exited.
  std::vector<Entry> missing(const ThreadName& leader) const {
    std::vector<Entry> found;
    std::ranges::copy_if(then_.of_process(leader.tgid), std::back_inserter(found),
                         [&](const Entry& other) {
                           return !other.name.is_leader() && !now_.contains(other.name) &&
                                  !exits_.contains(other.name);
                         });
    return found;
  }

  TookOver taker(const ThreadName& leader) const {
    const auto others = missing(leader);
    if (others.size() == 1) return by(others[0]);
    if (!others.empty() || ended_->lost > 0 || ended_->unseen > 0) return kUnknown;
    return {0, 0, new_start(), 0};
  }
  static TookOver by(const Entry& thread) { return {0, thread.name.tid, thread.name.start, 0}; }

  std::uint64_t new_start() const {
    const std::uint64_t hz = std::max<std::uint64_t>(after_->meta.user_hz, 1);
    return before_->meta.start.boottime_ns / (kNsPerSecond / hz) + 1;
  }

  void compare_counters(const Entry& then) {
    const ThreadName& name = then.name;
    const Entry* now = now_.find(name);
    if (!now || known_.contains(name.tgid) || has_survivors(name)) return;
    const Leader leader(*before_, *after_, then.row, now->row);
    if (leader.is_unchanged()) return;
    const auto others = missing(name);
    std::vector<Entry> fitting;
    std::ranges::copy_if(others, std::back_inserter(fitting),
                         [&](const Entry& other) { return leader.fits(other.row); });
    const std::uint64_t at = after_->meta.start.boottime_ns;
    const bool may_be_leader =
        others.empty() ? !leader.is_too_busy(then.row) : leader.fits(then.row);
    const auto exceeds = [&](const Entry& other) { return leader.exceeds_leader(other.row); };
    if (may_be_leader && std::ranges::none_of(fitting, exceeds)) return;
    const bool is_known =
        !may_be_leader && fitting.size() == 1 && leader.is_too_busy_for_a_new_thread();
    add(name, is_known ? by(fitting[0]) : kUnknown, at);
  }

  void add(const ThreadName& leader, TookOver exec, std::uint64_t at) {
    exec.tgid = leader.tgid;
    exec.at_ns = at;
    ended_->took_over.push_back(exec);
    known_.insert(leader.tgid);
  }

  const Snapshot* before_;
  const Snapshot* after_;
  Ended* ended_;
  RowsByName then_, now_, exits_;
  std::set<std::uint64_t> known_;  // processes with a known exec
};

}  // namespace

void infer_take_overs(const Snapshot& before, const Snapshot& after, Ended& ended) {
  Inference(before, after, ended).run();
}

}  // namespace ctprof
