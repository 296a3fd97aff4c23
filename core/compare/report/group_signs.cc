#include "core/compare/report/group_signs.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/clock.hpp"
#include "core/compare/figures/long_waits.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/recorder_rows.hpp"
#include "core/registry/identity.hpp"
#include "core/stacks/kernel_waits.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

constexpr double kJobAgeSeconds = 60, kJobShare = 0.8;
constexpr double kLargeBytes = 16 << 20;
constexpr double kWaitsPerSecond = 200, kMaxShortWaitNs = 5e6;
constexpr std::size_t kMinSimilarThreads = 4;
constexpr double kOddThreadFactor = 3, kMinOddShare = 0.2, kMinMedianShare = 0.01;

// A thread column found by its role: values at the end of the window, or differences for counters.
class RoleColumn {
 public:
  RoleColumn(const Snapshot& snapshot, std::string_view role)
      : column_(find_role(snapshot.threads().columns, role)) {}

  double value(std::size_t row) const {
    return column_ && column_->has_value(row) ? static_cast<double>(column_->u64()[row]) : 0;
  }

  // Returns false if the value is missing.
  bool is_zero(std::size_t row) const {
    return column_ && column_->has_value(row) && column_->u64()[row] == 0;
  }

 private:
  const Column* column_;
};

void replace_if_larger(std::optional<OddThread>& largest, const std::optional<OddThread>& other) {
  if (other && (!largest || other->figure_ns > largest->figure_ns)) largest = other;
}

// Returns "worker" for worker3 and worker17.
std::string remove_digits(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c < '0' || c > '9') text += c;
  return text;
}

class SignFinder {
 public:
  SignFinder(const Snapshot& snapshot, const RowGroups& rows, std::span<const std::uint32_t> stacks)
      : snapshot_(&snapshot),
        rows_(&rows),
        stacks_(stacks),
        window_ns_(ctprof::rates_over_ns(snapshot)),
        run_(snapshot, "run-time"),
        wait_(snapshot, "wait-time"),
        blocked_(snapshot, "blocked-time"),
        switches_(snapshot, "voluntary-switches"),
        involuntary_switches_(snapshot, "involuntary-switches"),
        major_faults_(snapshot, "major-faults"),
        minor_faults_(snapshot, "minor-faults"),
        long_waits_(snapshot),
        throttled_waits_(snapshot),
        tgids_(thread_column(snapshot, kTgid, Storage::U64)),
        tids_(thread_column(snapshot, kTid, Storage::U64)),
        starts_(thread_column(snapshot, kStartTime, Storage::U64)),
        names_(thread_column(snapshot, kComm, Storage::String)),
        kernel_(thread_column(snapshot, kKernelThread, Storage::Bool)),
        state_(find_role(snapshot.threads().columns, "state", Storage::String)),
        state_at_opening_(find_role(thread_opening().columns, "state", Storage::String)) {}

  std::vector<GroupSigns> find() {
    signs_.resize(rows_->groups.keys.size());
    if (!tgids_ || !tids_ || window_ns_ <= 0) return std::move(signs_);
    find_lock_stacks();
    const RecorderRows recorder_rows(*snapshot_);
    for (std::size_t row = 0; row < groups_of(Entity::Thread).size(); ++row)
      if (groups_of(Entity::Thread)[row] != kNoGroup) add_thread(row, recorder_rows);
    find_short_waits();
    find_odd_threads();
    find_processes();
    return std::move(signs_);
  }

 private:
  struct Process {
    std::uint32_t group = kNoGroup;
    std::uint64_t start = 0;
    double busiest_share = 0;
    ShortWaits waits;
  };
  // Threads with the same process and name that existed during the whole window.
  using SimilarThreads =
      std::map<std::tuple<std::uint32_t, std::uint64_t, std::string>, std::vector<std::size_t>>;

  const Opening& thread_opening() const {
    return snapshot_->window->openings[static_cast<std::size_t>(Entity::Thread)];
  }
  std::span<const std::uint32_t> groups_of(Entity entity) const {
    return rows_->group_of_row[static_cast<std::size_t>(entity)];
  }
  std::string_view text(const Column* column, std::size_t row) const {
    if (!column || row >= column->rows() || !column->has_value(row)) return {};
    return snapshot_->pools->texts[column->ids()[row]];
  }
  bool is_living(std::size_t row) const { return row < snapshot_->window->living_threads; }
  bool started_in_window(std::size_t row) const { return thread_opening().started[row] != 0; }

  void find_lock_stacks() {
    for (const Column& column : snapshot_->threads().columns)
      if (column.def().role == "waiting-stacks" && column.def().storage == Storage::Stacks)
        waiting_stacks_.push_back(&column);
    if (waiting_stacks_.empty()) return;
    waits_for_lock_ = find_lock_waits(snapshot_->pools->stacks.table);
    waits_in_lock_function_ = find_lock_function_waits(snapshot_->pools->stacks.table);
    waits_in_sync_ = find_sync_waits(snapshot_->pools->stacks.table);
  }

  // The part of a thread's waits that its stacks explain, and the parts in waits for a lock and in
  // calls that wait for the disk to write.
  struct ExplainedWaits {
    double all_ns = 0, lock_ns = 0, sync_ns = 0;
  };

  // If there are two recorders, uses the one whose stacks explain more of the waits. Weights that
  // are not times (samples) are shares of the time for which the thread was blocked. `is_lock`: by
  // stack node.
  ExplainedWaits explain_waits(std::size_t row, const std::vector<bool>& is_lock) const {
    ExplainedWaits found;
    for (const Column* column : waiting_stacks_) {
      if (!column->has_value(row)) continue;
      double all = 0, lock = 0, sync = 0;
      for (const ctprof_stack& one : snapshot_->pools->stacks[column->ids()[row]]) {
        all += static_cast<double>(one.weight);
        if (one.stack < is_lock.size() && is_lock[one.stack])
          lock += static_cast<double>(one.weight);
        if (one.stack < waits_in_sync_.size() && waits_in_sync_[one.stack])
          sync += static_cast<double>(one.weight);
      }
      const bool is_time = column->def().unit == "ns";
      const double scale = is_time || all <= 0 ? 1 : blocked_.value(row) / all;
      if (all * scale > found.all_ns) found = {all * scale, lock * scale, sync * scale};
    }
    return found;
  }

  WaitingThreads waits_of(std::size_t row) const {
    return {1, switches_.value(row), blocked_.value(row), wait_.value(row)};
  }

  void add_lock_waits(std::size_t row, const ExplainedWaits& explained, ShortWaits& waits) const {
    if (explained.lock_ns <= 0) return;
    waits.lock_ns += explained.lock_ns;
    waits.sync_ns += explained.sync_ns;
    waits.of_locks.add(waits_of(row));
  }

  void add_long_waits(std::size_t row, GroupSigns& signs) {
    if (!long_waits_.has_few_waits(row)) return;
    for (const Column* column : waiting_stacks_) {
      const auto minimum = long_waits_.min_weight_ns(*column);
      if (!minimum || !column->has_value(row)) continue;
      for (const ctprof_stack& one : snapshot_->pools->stacks[column->ids()[row]])
        if (static_cast<double>(one.weight) >= *minimum && one.stack < stacks_.size())
          signs.long_waits.push_back(
              {column->def().name, stacks_[one.stack], static_cast<double>(one.weight)});
    }
  }

  void add_thread(std::size_t row, const RecorderRows& recorder_rows) {
    GroupSigns& signs = signs_[groups_of(Entity::Thread)[row]];
    add_long_waits(row, signs);
    throttled_waits_.add(row, wait_.value(row), signs.throttled_waits);
    const std::uint64_t tgid = tgids_->u64()[row];
    const bool is_leader = tids_->u64()[row] == tgid, is_kernel = is_flag_set(kernel_, row);
    signs.major_faults += major_faults_.value(row);
    signs.minor_faults += minor_faults_.value(row);
    signs.involuntary_switches += involuntary_switches_.value(row);
    if (recorder_rows.contains(row)) signs.own_cpu_ns += run_.value(row);
    if (is_leader && started_in_window(row)) ++signs.processes_started;
    if (is_leader && !is_living(row)) ++signs.processes_exited;
    if (!is_living(row)) return;
    const std::string_view state_at_end = text(state_, row),
                           state_at_opening = text(state_at_opening_, row);
    if (is_leader && state_at_end == "Z") ++signs.zombies;
    if (!is_kernel && state_at_end == "D" && state_at_opening == "D" && run_.is_zero(row))
      ++signs.stuck_threads;
    if (!is_kernel && !recorder_rows.contains(row)) add_to_process(row, tgid, is_leader);
    if (!is_kernel && !is_leader && !started_in_window(row))
      similar_threads_[{groups_of(Entity::Thread)[row], tgid, remove_digits(text(names_, row))}]
          .push_back(row);
  }

  void add_to_process(std::size_t row, std::uint64_t tgid, bool is_leader) {
    Process& process = processes_[tgid];
    process.group = groups_of(Entity::Thread)[row];
    if (is_leader && starts_ && starts_->has_value(row)) process.start = starts_->u64()[row];
    const double share = (run_.value(row) + wait_.value(row)) / window_ns_;
    process.busiest_share = std::max(process.busiest_share, share);
    const double waits = switches_.value(row), blocked = blocked_.value(row);
    const bool is_short =
        waits >= kWaitsPerSecond * window_ns_ / kNsPerSecond && blocked <= kMaxShortWaitNs * waits;
    const auto explained = explain_waits(row, is_short ? waits_for_lock_ : waits_in_lock_function_);
    add_lock_waits(row, explained, process.waits);
    if (!is_short) return;
    process.waits.all.add(waits_of(row));
    process.waits.explained_ns += explained.all_ns;
  }

  void find_short_waits() {
    for (const auto& [tgid, process] : processes_) {
      ShortWaits& largest = signs_[process.group].short_waits;
      if (process.waits.precedes(largest)) largest = process.waits;
    }
  }

  void find_odd_threads() {
    for (const auto& [key, rows] : similar_threads_) {
      if (rows.size() < kMinSimilarThreads) continue;
      GroupSigns& signs = signs_[std::get<0>(key)];
      const double load_ns = median(rows, run_);
      signs.shared_load_ns = std::max(signs.shared_load_ns, load_ns);
      if (load_ns < kMinMedianShare * window_ns_) {
        replace_if_larger(signs.lone_thread, find_odd_thread(rows, false));
        continue;
      }
      for (const bool is_waiting : {false, true})
        replace_if_larger(signs.odd_thread, find_odd_thread(rows, is_waiting));
    }
  }

  double median(std::span<const std::size_t> rows, const RoleColumn& figure) const {
    std::vector<double> figures;
    for (const std::size_t row : rows) figures.push_back(figure.value(row));
    const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
    std::ranges::nth_element(figures, middle);
    return *middle;
  }

  std::optional<OddThread> find_odd_thread(std::span<const std::size_t> rows,
                                           bool is_waiting) const {
    const RoleColumn& figure = is_waiting ? wait_ : run_;
    const std::size_t first =
        *std::ranges::max_element(rows, {}, [&](std::size_t row) { return figure.value(row); });
    const double largest = figure.value(first), middle = median(rows, figure);
    if (largest < kOddThreadFactor * middle || largest - middle < kMinOddShare * window_ns_)
      return {};
    return OddThread{std::string(text(names_, first)),
                     tids_->u64()[first],
                     is_waiting,
                     largest,
                     middle,
                     rows.size() - 1};
  }

  double age_seconds(std::uint64_t start) const {
    const double hz = static_cast<double>(std::max<std::uint64_t>(snapshot_->meta.user_hz, 1));
    return static_cast<double>(snapshot_->meta.start.boottime_ns) / kNsPerSecond -
           static_cast<double>(start) / hz;
  }

  void find_processes() {
    const Table& table = snapshot_->table(Entity::Process);
    const Opening& opening = snapshot_->window->openings[static_cast<std::size_t>(Entity::Process)];
    const Column *at_end = find_role(table.columns, "resident"),
                 *at_opening = find_role(opening.columns, "resident");
    const Column* tgids = table.find_u64(kProcessTgid);
    if (!at_end || !at_opening || !tgids) return;
    for (std::size_t row = 0; row < groups_of(Entity::Process).size(); ++row) {
      const std::uint32_t group = groups_of(Entity::Process)[row];
      if (group == kNoGroup || !at_end->has_value(row) || !at_opening->has_value(row)) continue;
      add_process_memory(signs_[group], tgids->u64()[row], static_cast<double>(at_end->u64()[row]),
                         static_cast<double>(at_opening->u64()[row]));
    }
  }

  void add_process_memory(GroupSigns& signs, std::uint64_t tgid, double end_bytes,
                          double opening_bytes) {
    const auto process_entry = processes_.find(tgid);
    if (end_bytes < kLargeBytes || process_entry == processes_.end()) return;
    const Process& process = process_entry->second;
    const bool is_job =
        age_seconds(process.start) < kJobAgeSeconds && process.busiest_share >= kJobShare;
    signs.large_processes.push_back(
        {tgid, process.start, end_bytes, end_bytes - opening_bytes, is_job});
  }

  const Snapshot* snapshot_;
  const RowGroups* rows_;
  std::span<const std::uint32_t> stacks_;
  double window_ns_;
  RoleColumn run_, wait_, blocked_, switches_, involuntary_switches_, major_faults_, minor_faults_;
  LongWaits long_waits_;
  ThrottledWaits throttled_waits_;
  const Column *tgids_, *tids_, *starts_, *names_, *kernel_, *state_, *state_at_opening_;
  std::vector<const Column*> waiting_stacks_;  // columns of waiting stacks
  // By stack node: the stack waits for a lock; it also contains a function that locks; it waits in
  // fsync or a similar call.
  std::vector<bool> waits_for_lock_, waits_in_lock_function_, waits_in_sync_;
  std::map<std::uint64_t, Process> processes_;
  SimilarThreads similar_threads_;
  std::vector<GroupSigns> signs_;
};

}  // namespace

double GroupSigns::lasting_growth() const {
  double sum = 0;
  for (const LastingProcess& one : large_processes)
    if (!one.is_job) sum += one.growth;
  return sum;
}

std::optional<double> GroupSigns::growth_since(const GroupSigns& earlier) const {
  const auto identity = [](const LastingProcess& one) { return std::pair(one.tgid, one.start); };
  // The processes of merged groups are concatenated, not sorted.
  std::vector<LastingProcess> before = earlier.large_processes;
  std::ranges::stable_sort(before, {}, identity);
  std::optional<double> sum;
  for (const LastingProcess& one : large_processes) {
    const auto earlier_process = std::ranges::lower_bound(before, identity(one), {}, identity);
    if (earlier_process == before.end() || identity(*earlier_process) != identity(one)) continue;
    sum = sum.value_or(0) + (one.is_job ? 0 : one.bytes - earlier_process->bytes);
  }
  return sum;
}

GroupSigns& GroupSigns::operator+=(const GroupSigns& other) {
  zombies += other.zombies;
  stuck_threads += other.stuck_threads;
  major_faults += other.major_faults;
  minor_faults += other.minor_faults;
  involuntary_switches += other.involuntary_switches;
  own_cpu_ns += other.own_cpu_ns;
  processes_started += other.processes_started;
  processes_exited += other.processes_exited;
  if (other.short_waits.precedes(short_waits)) short_waits = other.short_waits;
  replace_if_larger(odd_thread, other.odd_thread);
  replace_if_larger(lone_thread, other.lone_thread);
  shared_load_ns = std::max(shared_load_ns, other.shared_load_ns);
  large_processes.insert(large_processes.end(), other.large_processes.begin(),
                         other.large_processes.end());
  long_waits.insert(long_waits.end(), other.long_waits.begin(), other.long_waits.end());
  for (const ThrottledWait& one : other.throttled_waits) add_throttled_wait(throttled_waits, one);
  return *this;
}

std::vector<GroupSigns> find_group_signs(const Snapshot& snapshot, const RowGroups& rows,
                                         std::span<const std::uint32_t> stacks) {
  return SignFinder(snapshot, rows, stacks).find();
}

}  // namespace ctprof
