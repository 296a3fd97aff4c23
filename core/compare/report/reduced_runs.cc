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
constexpr std::size_t kMaxReducers = 8;

// Lets threads execute a section one at a time, in the order of their numbers.
class TurnOrder {
 public:
  // The turn of one number. If it was not used, the destructor passes it to the next number.
  class Turn {
   public:
    Turn(TurnOrder& turns, std::size_t number) : turns_(&turns), number_(number) {}
    ~Turn() { pass_on(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    void wait() {
      std::unique_lock lock(turns_->mutex_);
      turns_->turn_changed_.wait(lock, [&] { return turns_->next_ == number_; });
    }
    void pass_on() {
      if (std::exchange(is_passed_on_, true)) return;
      wait();
      const std::lock_guard lock(turns_->mutex_);
      ++turns_->next_;
      turns_->turn_changed_.notify_all();
    }

   private:
    TurnOrder* turns_;
    std::size_t number_;
    bool is_passed_on_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::size_t next_ = 0;
};

std::size_t count_kept(const KeptRows& kept_rows) {
  return static_cast<std::size_t>(std::ranges::count(kept_rows, true));
}

class Reducer {
 public:
  Reducer(std::size_t runs, const LoadRun& load, const MetricPlan& plan,
          const ClassifiedConditions& where, const Spec& spec)
      : load_(&load),
        plan_(&plan),
        where_(&where),
        expensive_filter_(plan, spec, where.groups),
        has_stacks_(plan.has_stacks()),
        results_(runs),
        reduced_(spec) {
    reduced_.is_omitted.resize(plan.metrics.size());
  }

  Result<ReducedRuns> reduce() {
    const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t workers = std::min({results_.size(), kMaxReducers, processors});
    share_work(static_cast<unsigned>(workers), results_.size(),
               [&](unsigned, std::size_t run) { results_[run].emplace(reduce(run)); });
    for (auto& run : results_) {
      if (!*run) return run->error();
      reduced_.runs.push_back(std::move(**run));
    }
    return std::move(reduced_);
  }

 private:
  Result<ReducedRun> reduce(std::size_t number) {
    TurnOrder::Turn turn(turns_, number);
    CTPROF_TRY_VALUE(auto loaded, (*load_)(number));
    const Snapshot& run = *loaded;
    const KeptRows kept_rows = select_rows(run, *where_);
    const Snapshot* const opening_only = run.window ? run.window->opening_only.get() : nullptr;
    const bool can_filter_opening = !opening_only || has_condition_columns(*opening_only, *where_);
    const KeptRows kept_opening_rows =
        opening_only && can_filter_opening ? select_rows(*opening_only, *where_) : KeptRows();
    RunFacts facts = collect_run_facts(run);
    turn.wait();
    RowGroups rows = reduced_.groups.add(run, kept_rows, kept_opening_rows);
    rows.opening_filter_is_known = can_filter_opening;
    const std::vector<std::uint32_t> nodes = add_stacks(run);
    const std::vector<bool> omitted_metrics = find_omitted(rows.groups, run.text_bytes);
    turn.pass_on();
    ReducedRun reduced{.facts = std::move(facts),
                       .rows = {},
                       .kept_threads = {count_kept(kept_rows), kept_rows.size()},
                       .figures = figures(run, rows, omitted_metrics, nodes),
                       .threads = {},
                       .signs = {},
                       .busiest_excluded = {},
                       .snapshot = {}};
    if (run.window) {
      reduced.signs = find_group_signs(run, rows, nodes);
      if (where_->entity == Entity::Thread)
        reduced.busiest_excluded = find_busiest_excluded(run, kept_rows);
      auto& thread_groups = rows.group_of_row[static_cast<std::size_t>(Entity::Thread)];
      reduced.threads =
          count_screen_threads({&run, std::move(thread_groups)}, rows.groups.keys.size(),
                               rows.group_of_opening_row[static_cast<std::size_t>(Entity::Thread)]);
      reduced.rows.groups = std::move(rows.groups);
    } else {
      reduced.rows = std::move(rows);
      reduced.snapshot = std::move(loaded);
    }
    return reduced;
  }

  // REQUIRES: the turn of this run.
  std::vector<std::uint32_t> add_stacks(const Snapshot& run) {
    if (!has_stacks_) return {};
    const std::unique_lock lock(common_stacks_mutex_);
    return reduced_.stacks.add(run.pools->stacks.table);
  }

  // REQUIRES: the turn of this run.
  std::vector<bool> find_omitted(const RunGroups& groups, std::size_t text_bytes) {
    std::vector<bool> is_over_allowance =
        expensive_filter_.find_for_run(groups, text_bytes, results_.size());
    for (std::size_t metric = 0; metric < is_over_allowance.size(); ++metric)
      if (is_over_allowance[metric]) reduced_.is_omitted[metric] = true;
    return is_over_allowance;
  }

  RunFigures figures(const Snapshot& run, const RowGroups& rows,
                     const std::vector<bool>& omitted_metrics,
                     std::span<const std::uint32_t> nodes) {
    if (!has_stacks_) return {run, rows, *plan_, omitted_metrics, {}};
    const std::shared_lock lock(common_stacks_mutex_);
    return {run, rows, *plan_, omitted_metrics, {&reduced_.stacks, nodes}};
  }

  const LoadRun* load_;
  const MetricPlan* plan_;
  const ClassifiedConditions* where_;
  ExpensiveMetricFilter expensive_filter_;
  bool has_stacks_;
  TurnOrder turns_;
  std::shared_mutex common_stacks_mutex_;  // one run adds to the common stacks, others read them
  std::vector<std::optional<Result<ReducedRun>>> results_;
  ReducedRuns reduced_;
};

}  // namespace

Result<ReducedRuns> reduce_runs(std::size_t runs, const LoadRun& load, const MetricPlan& plan,
                                const ClassifiedConditions& where, const Spec& spec) {
  return Reducer(runs, load, plan, where, spec).reduce();
}

}  // namespace ctprof
