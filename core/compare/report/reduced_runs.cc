#include "core/compare/report/reduced_runs.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "core/base/workers.hpp"
#include "core/compare/figures/allowance.hpp"

namespace ctprof {
namespace {

// The maximum number of concurrent reductions; each has a run in memory.
constexpr std::size_t kMostReducers = 8;

// Lets threads execute a section one at a time, in the order of their numbers.
class Turns {
 public:
  // The turn of one number. The destructor passes an unused turn on.
  class Turn {
   public:
    Turn(Turns& turns, std::size_t number) : turns_(&turns), number_(number) {}
    ~Turn() { pass(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    void wait() {
      std::unique_lock lock(turns_->mutex_);
      turns_->moved_.wait(lock, [&] { return turns_->next_ == number_; });
    }
    void pass() {
      if (std::exchange(is_over_, true)) return;
      wait();
      const std::lock_guard lock(turns_->mutex_);
      ++turns_->next_;
      turns_->moved_.notify_all();
    }

   private:
    Turns* turns_;
    std::size_t number_;
    bool is_over_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::size_t next_ = 0;
};

std::size_t count_of(const Kept& kept) {
  return static_cast<std::size_t>(std::ranges::count(kept, true));
}

class Reducer {
 public:
  Reducer(std::size_t runs, const TakeRun& take, const MetricPlan& plan, const SortedWhere& where,
          const Spec& spec)
      : take_(&take),
        plan_(&plan),
        where_(&where),
        costly_(plan, spec, where.groups),
        has_stacks_(plan.has_stacks()),
        found_(runs),
        whole_(spec) {
    whole_.left_out.resize(plan.metrics.size());
  }

  Result<ReducedRuns> reduce() {
    const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t workers = std::min({found_.size(), kMostReducers, processors});
    share(static_cast<unsigned>(workers), found_.size(),
          [&](unsigned, std::size_t run) { found_[run].emplace(reduce(run)); });
    for (auto& run : found_) {
      if (!*run) return run->error();
      whole_.runs.push_back(std::move(**run));
    }
    return std::move(whole_);
  }

 private:
  Result<ReducedRun> reduce(std::size_t number) {
    Turns::Turn turn(turns_, number);
    auto taken = (*take_)(number);
    if (!taken) return taken.error();
    const Snapshot& run = **taken;
    const Kept kept = kept_threads(run, where_->threads);
    const Snapshot* const opening_only = run.window ? run.window->opening_only.get() : nullptr;
    const bool judges_opening = !opening_only || can_judge_threads(*opening_only, where_->threads);
    const Kept kept_of_opening =
        opening_only && judges_opening ? kept_threads(*opening_only, where_->threads) : Kept();
    RunFacts facts = facts_of(run);
    turn.wait();
    RowGroups rows = whole_.groups.add(run, kept, kept_of_opening);
    rows.knows_opening_only = judges_opening;
    const std::vector<std::uint32_t> nodes = add_stacks(run);
    const std::vector<bool> left_out = leave_out(rows.groups, run.text_bytes);
    turn.pass();
    ReducedRun reduced{.facts = std::move(facts),
                       .rows = {},
                       .kept = {count_of(kept), kept.size()},
                       .figures = figures(run, rows, left_out, nodes),
                       .threads = {},
                       .signs = {},
                       .snapshot = {}};
    if (run.window) {
      reduced.signs = group_signs(run, rows, nodes);
      auto& of_threads = rows.of_row[static_cast<std::size_t>(Entity::Thread)];
      reduced.threads =
          screen_threads({&run, std::move(of_threads)}, rows.groups.keys.size(),
                         rows.of_opening_only[static_cast<std::size_t>(Entity::Thread)]);
      reduced.rows.groups = std::move(rows.groups);
    } else {
      reduced.rows = std::move(rows);
      reduced.snapshot = std::move(*taken);
    }
    return reduced;
  }

  // REQUIRES: the turn of this run.
  std::vector<std::uint32_t> add_stacks(const Snapshot& run) {
    if (!has_stacks_) return {};
    const std::unique_lock lock(book_);
    return whole_.stacks.add(run.pools->stacks.table);
  }

  // REQUIRES: the turn of this run.
  std::vector<bool> leave_out(const RunGroups& groups, std::size_t text_bytes) {
    std::vector<bool> costly = costly_.of_run(groups, text_bytes, found_.size());
    for (std::size_t metric = 0; metric < costly.size(); ++metric)
      if (costly[metric]) whole_.left_out[metric] = true;
    return costly;
  }

  RunFigures figures(const Snapshot& run, const RowGroups& rows, const std::vector<bool>& left_out,
                     std::span<const std::uint32_t> nodes) {
    if (!has_stacks_) return {run, rows, *plan_, left_out, {}};
    const std::shared_lock lock(book_);
    return {run, rows, *plan_, left_out, {&whole_.stacks, nodes}};
  }

  const TakeRun* take_;
  const MetricPlan* plan_;
  const SortedWhere* where_;
  CostlyMetrics costly_;
  bool has_stacks_;
  Turns turns_;
  std::shared_mutex book_;  // protects the stack book: one run adds to it, others read it
  std::vector<std::optional<Result<ReducedRun>>> found_;
  ReducedRuns whole_;
};

}  // namespace

Result<ReducedRuns> reduce_runs(std::size_t runs, const TakeRun& take, const MetricPlan& plan,
                                const SortedWhere& where, const Spec& spec) {
  return Reducer(runs, take, plan, where, spec).reduce();
}

}  // namespace ctprof
