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
#include "core/compare/report/own_rows.hpp"
#include "core/registry/identity.hpp"
#include "core/stacks/kernel_waits.hpp"
#include "core/window/happened.hpp"

namespace ctprof {
namespace {

constexpr double kJobAgeSeconds = 60, kJobShare = 0.8;
constexpr double kLargeBytes = 16 << 20;
constexpr double kWaitsPerSecond = 200, kLongestShortWaitNs = 5e6;
constexpr std::size_t kFewestAlike = 4;
constexpr double kOddTimes = 3, kOddShare = 0.2, kLeastMedianShare = 0.01;

// A thread column found by its role: values at the end of the window, or differences for counters.
class RoleColumn {
 public:
  RoleColumn(const Snapshot& snapshot, std::string_view role)
      : column_(find_role(snapshot.threads().columns, role)) {}

  double at(std::size_t row) const {
    return column_ && column_->has_value(row) ? static_cast<double>(column_->u64()[row]) : 0;
  }

  // Returns false if the value is missing.
  bool is_zero(std::size_t row) const {
    return column_ && column_->has_value(row) && column_->u64()[row] == 0;
  }

 private:
  const Column* column_;
};

// Returns "worker" for worker3 and worker17.
std::string without_digits(std::string_view name) {
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
        major_faults_(snapshot, "major-faults"),
        long_waits_(snapshot),
        tgids_(thread_column(snapshot, kTgid, Storage::U64)),
        tids_(thread_column(snapshot, kTid, Storage::U64)),
        starts_(thread_column(snapshot, kStartTime, Storage::U64)),
        names_(thread_column(snapshot, kComm, Storage::String)),
        kernel_(thread_column(snapshot, kKernelThread, Storage::Bool)),
        state_(find_role(snapshot.threads().columns, "state", Storage::String)),
        state_then_(find_role(thread_opening().columns, "state", Storage::String)) {}

  std::vector<GroupSigns> find() {
    found_.resize(rows_->groups.keys.size());
    if (!tgids_ || !tids_ || window_ns_ <= 0) return std::move(found_);
    find_locks();
    const OwnRows own(*snapshot_);
    for (std::size_t row = 0; row < groups_of(Entity::Thread).size(); ++row)
      if (groups_of(Entity::Thread)[row] != kNoGroup) take_thread(row, own);
    settle_waits();
    find_odd_ones();
    find_processes();
    return std::move(found_);
  }

 private:
  struct Process {
    std::uint32_t group = kNoGroup;
    std::uint64_t start = 0;
    double busiest_share = 0;
    ShortWaits waits;
  };
  // Threads with the same process and name that existed during the whole window.
  using Alike =
      std::map<std::tuple<std::uint32_t, std::uint64_t, std::string>, std::vector<std::size_t>>;

  const Opening& thread_opening() const {
    return snapshot_->window->openings[static_cast<std::size_t>(Entity::Thread)];
  }
  std::span<const std::uint32_t> groups_of(Entity entity) const {
    return rows_->of_row[static_cast<std::size_t>(entity)];
  }
  std::string_view text(const Column* column, std::size_t row) const {
    if (!column || row >= column->rows() || !column->has_value(row)) return {};
    return snapshot_->pools->texts[column->ids()[row]];
  }
  bool is_living(std::size_t row) const { return row < snapshot_->window->living; }
  bool is_born(std::size_t row) const { return thread_opening().born[row] != 0; }

  void find_locks() {
    for (const Column& column : snapshot_->threads().columns)
      if (column.def().role == "waiting-stacks" && column.def().storage == Storage::Stacks)
        waiting_.push_back(&column);
    if (!waiting_.empty()) locks_ = nodes_below(snapshot_->pools->stacks.table, &waits_for_lock);
  }

  double lock_ns(std::size_t row) const {
    double most = 0;
    for (const Column* column : waiting_) {
      if (column->def().unit != "ns" || !column->has_value(row)) continue;
      double sum = 0;
      for (const ctprof_stack& one : snapshot_->pools->stacks[column->ids()[row]])
        if (one.stack < locks_.size() && locks_[one.stack]) sum += static_cast<double>(one.weight);
      most = std::max(most, sum);
    }
    return most;
  }

  void take_long_waits(std::size_t row, GroupSigns& signs) {
    if (!long_waits_.waits_rarely(row)) return;
    for (const Column* column : waiting_) {
      const auto least = long_waits_.least_ns(*column);
      if (!least || !column->has_value(row)) continue;
      for (const ctprof_stack& one : snapshot_->pools->stacks[column->ids()[row]])
        if (static_cast<double>(one.weight) >= *least && one.stack < stacks_.size())
          signs.long_waits.push_back(
              {column->def().name, stacks_[one.stack], static_cast<double>(one.weight)});
    }
  }

  void take_thread(std::size_t row, const OwnRows& own) {
    GroupSigns& signs = found_[groups_of(Entity::Thread)[row]];
    take_long_waits(row, signs);
    const std::uint64_t tgid = tgids_->u64()[row];
    const bool is_leader = tids_->u64()[row] == tgid, is_kernel = is_flag_set(kernel_, row);
    signs.major_faults += major_faults_.at(row);
    if (own.contains(row)) signs.own_ns += run_.at(row);
    if (is_leader && is_born(row)) ++signs.processes_started;
    if (is_leader && !is_living(row)) ++signs.processes_exited;
    if (!is_living(row)) return;
    const std::string_view now = text(state_, row), then = text(state_then_, row);
    if (is_leader && now == "Z") ++signs.zombies;
    if (!is_kernel && now == "D" && then == "D" && run_.is_zero(row)) ++signs.stuck;
    if (!is_kernel && !own.contains(row)) take_process(row, tgid, is_leader);
    if (!is_kernel && !is_leader && !is_born(row))
      alike_[{groups_of(Entity::Thread)[row], tgid, without_digits(text(names_, row))}].push_back(
          row);
  }

  void take_process(std::size_t row, std::uint64_t tgid, bool is_leader) {
    Process& process = processes_[tgid];
    process.group = groups_of(Entity::Thread)[row];
    if (is_leader && starts_ && starts_->has_value(row)) process.start = starts_->u64()[row];
    const double share = (run_.at(row) + wait_.at(row)) / window_ns_;
    process.busiest_share = std::max(process.busiest_share, share);
    const double waits = switches_.at(row), blocked = blocked_.at(row);
    if (waits < kWaitsPerSecond * window_ns_ / kNsPerSecond) return;
    if (blocked > kLongestShortWaitNs * waits) return;
    process.waits.threads += 1;
    process.waits.waits += waits;
    process.waits.blocked_ns += blocked;
    process.waits.lock_ns += lock_ns(row);
  }

  void settle_waits() {
    for (const auto& [tgid, process] : processes_) {
      ShortWaits& most = found_[process.group].short_waits;
      if (process.waits.threads > 1 && process.waits.blocked_ns > most.blocked_ns)
        most = process.waits;
    }
  }

  void find_odd_ones() {
    for (const auto& [key, rows] : alike_) {
      if (rows.size() < kFewestAlike) continue;
      for (const bool is_waiting : {false, true}) {
        const auto odd = odd_one(rows, is_waiting);
        std::optional<OddThread>& most = found_[std::get<0>(key)].odd;
        if (odd && (!most || odd->figure_ns > most->figure_ns)) most = odd;
      }
    }
  }

  double median(std::span<const std::size_t> rows, const RoleColumn& figure) const {
    std::vector<double> figures;
    for (const std::size_t row : rows) figures.push_back(figure.at(row));
    const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
    std::ranges::nth_element(figures, middle);
    return *middle;
  }

  std::optional<OddThread> odd_one(std::span<const std::size_t> rows, bool is_waiting) const {
    const RoleColumn& figure = is_waiting ? wait_ : run_;
    if (median(rows, run_) < kLeastMedianShare * window_ns_) return {};
    const std::size_t first =
        *std::ranges::max_element(rows, {}, [&](std::size_t row) { return figure.at(row); });
    const double most = figure.at(first), middle = median(rows, figure);
    if (most < kOddTimes * middle || most - middle < kOddShare * window_ns_) return {};
    return OddThread{std::string(text(names_, first)),
                     tids_->u64()[first],
                     is_waiting,
                     most,
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
    const Column *now = find_role(table.columns, "resident"),
                 *then = find_role(opening.columns, "resident");
    const Column* tgids = table.find_u64(kProcessTgid);
    if (!now || !then || !tgids) return;
    for (std::size_t row = 0; row < groups_of(Entity::Process).size(); ++row) {
      const std::uint32_t group = groups_of(Entity::Process)[row];
      if (group == kNoGroup || !now->has_value(row) || !then->has_value(row)) continue;
      take_memory(found_[group], tgids->u64()[row], static_cast<double>(now->u64()[row]),
                  static_cast<double>(then->u64()[row]));
    }
  }

  void take_memory(GroupSigns& signs, std::uint64_t tgid, double now, double then) {
    const auto known = processes_.find(tgid);
    if (now < kLargeBytes || known == processes_.end()) return;
    const Process& process = known->second;
    const bool is_job =
        age_seconds(process.start) < kJobAgeSeconds && process.busiest_share >= kJobShare;
    signs.large.push_back({tgid, process.start, now, now - then, is_job});
  }

  const Snapshot* snapshot_;
  const RowGroups* rows_;
  std::span<const std::uint32_t> stacks_;
  double window_ns_;
  RoleColumn run_, wait_, blocked_, switches_, major_faults_;
  LongWaits long_waits_;
  const Column *tgids_, *tids_, *starts_, *names_, *kernel_, *state_, *state_then_;
  std::vector<const Column*> waiting_;  // columns of waiting stacks
  std::vector<bool> locks_;             // by stack node: the stack waits for a lock
  std::map<std::uint64_t, Process> processes_;
  Alike alike_;
  std::vector<GroupSigns> found_;
};

}  // namespace

double GroupSigns::lasting_growth() const {
  double sum = 0;
  for (const LastingProcess& one : large)
    if (!one.is_job) sum += one.growth;
  return sum;
}

std::optional<double> GroupSigns::growth_since(const GroupSigns& earlier) const {
  const auto identity = [](const LastingProcess& one) { return std::pair(one.tgid, one.start); };
  // The processes of merged groups are in sequence, not sorted.
  std::vector<LastingProcess> before = earlier.large;
  std::ranges::stable_sort(before, {}, identity);
  std::optional<double> sum;
  for (const LastingProcess& one : large) {
    const auto then = std::ranges::lower_bound(before, identity(one), {}, identity);
    if (then == before.end() || identity(*then) != identity(one)) continue;
    sum = sum.value_or(0) + (one.is_job ? 0 : one.bytes - then->bytes);
  }
  return sum;
}

GroupSigns& GroupSigns::operator+=(const GroupSigns& other) {
  zombies += other.zombies;
  stuck += other.stuck;
  major_faults += other.major_faults;
  own_ns += other.own_ns;
  processes_started += other.processes_started;
  processes_exited += other.processes_exited;
  if (other.short_waits.blocked_ns > short_waits.blocked_ns) short_waits = other.short_waits;
  if (other.odd && (!odd || other.odd->figure_ns > odd->figure_ns)) odd = other.odd;
  large.insert(large.end(), other.large.begin(), other.large.end());
  long_waits.insert(long_waits.end(), other.long_waits.begin(), other.long_waits.end());
  return *this;
}

std::vector<GroupSigns> group_signs(const Snapshot& snapshot, const RowGroups& rows,
                                    std::span<const std::uint32_t> stacks) {
  return SignFinder(snapshot, rows, stacks).find();
}

}  // namespace ctprof
