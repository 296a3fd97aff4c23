#include "core/capture/source_run.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/cell_sink.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::array<std::string_view, 6> kStageNames{"list",   "thread", "process",
                                                      "cgroup", "host",   "exited"};
constexpr std::array<ctprof_gap, CTPROF_MAX_ROWS> kNoGaps{};

}  // namespace

struct SourceRun::Worker {
  Worker(SourceRun& run, Pools& pools)
      : run(run),
        sink(run.columns_, pools, run.planned_.source->table.tallies_count),
        texts(run.planned_.source->reads.size()) {}

  SourceRun& run;
  CellSink sink;
  bool opened = false;
  bool usable = false;
  void* context = nullptr;
  std::vector<ctprof_input> inputs;
  std::vector<std::vector<ctprof_text>> texts;  // by input, for string columns
  std::vector<ctprof_cells> cells;
  ctprof_batch listed{};  // the batch that a lister fills
  std::vector<std::uint64_t>* read_at = nullptr;
  std::array<char, 512> message{};
  std::string failed;  // the first error
  std::string remark;  // the last remark
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t busy_ns = 0;
  std::uint64_t longest_stop_ns = 0;
  std::vector<std::uint64_t> kept_count;
};

SourceRun::SourceRun(const PlannedSource& planned, Table& table, Pools& pools,
                     const ctprof_host& host, unsigned workers, std::uint64_t clock_start)
    : planned_(planned),
      owner_(call_owner(planned.plugin->path, "source '" + planned.source->name + "'")),
      table_(table),
      pools_(pools),
      host_(host),
      clock_start_(clock_start) {
  for (std::size_t i = 0; i < planned_.source->offers.size(); ++i) {
    const SharedMetric& def = planned_.source->offers[i].metric;
    Column* column = planned_.chosen[i] ? table_.find(def->name) : nullptr;
    if (planned_.chosen[i] && !column) column = &table_.add(def, Gap::Untouched);
    if (column) column->provenance = {planned_.plugin->name, planned_.source->name, Gap::None, {}};
    columns_.push_back(column);
  }
  for (unsigned i = 0; i < workers; ++i)
    workers_.push_back(std::make_unique<Worker>(*this, pools_));
}

SourceRun::~SourceRun() {
  for (const auto& worker : workers_) close(*worker);
}

void SourceRun::keep_count(unsigned worker) {
  workers_[worker]->kept_count = workers_[worker]->sink.tallies();
}

void SourceRun::replace(unsigned index) {
  const Worker& lost = *workers_[index].release();
  auto worker = std::make_unique<Worker>(*this, pools_);
  worker->sink.begin_at(lost.kept_count);
  worker->failed = lost.failed;
  worker->remark = lost.remark;
  worker->first_ns = lost.first_ns;
  worker->last_ns = boottime_ns();
  worker->busy_ns = lost.busy_ns;
  worker->longest_stop_ns = lost.longest_stop_ns;
  workers_[index] = std::move(worker);
}

void SourceRun::leave(std::size_t first_row, std::uint32_t rows, Gap gap) {
  for (Column* column : columns_) {
    if (!column) continue;
    if (is_pooled(column->def().storage))
      std::ranges::fill(column->ids().subspan(first_row, rows), Id{0});
    std::ranges::fill(column->gaps().subspan(first_row, rows), static_cast<ctprof_gap>(gap));
  }
}

void SourceRun::close(Worker& worker) {
  if (!std::exchange(worker.usable, false)) return;
  std::string thrown = contained(owner_, "close_worker",
                                 [&] { planned_.source->table.close_worker(worker.context); });
  if (worker.failed.empty()) worker.failed = std::move(thrown);
}

bool SourceRun::open(Worker& worker) {
  if (worker.opened) return worker.usable;
  worker.opened = true;
  worker.message[0] = 0;
  std::int32_t status = 1;
  worker.failed = contained(owner_, "open_worker", [&] {
    status = planned_.source->table.open_worker(&host_, &worker.context, worker.message.data(),
                                                worker.message.size());
  });
  worker.message.back() = 0;
  worker.usable = worker.failed.empty() && status == 0;
  if (!worker.usable && worker.failed.empty())
    worker.failed =
        worker.message[0] ? worker.message.data() : "it failed to start without a message";
  return worker.usable;
}

void SourceRun::fill_inputs(Worker& worker, std::size_t first_row, std::uint32_t rows,
                            const HiddenColumns& hidden) {
  worker.inputs.clear();
  for (std::size_t i = 0; i < planned_.source->reads.size(); ++i) {
    const std::string& name = planned_.source->reads[i].column;
    ctprof_input input{nullptr, nullptr};
    if (name == kTaskDir && hidden.task_dirs) {
      input = {hidden.task_dirs, kNoGaps.data()};
    } else if (name == kStat && hidden.stats) {
      input = {hidden.stats, hidden.stat_gaps};
    } else if (const Column* column = table_.find(name)) {
      input = {column->values_at(first_row), column->gaps().data() + first_row};
      if (column->def().storage == Storage::String) {
        worker.texts[i].resize(rows);
        pools_.texts.resolve(column->ids().subspan(first_row, rows), worker.texts[i]);
        input.values = worker.texts[i].data();
      }
    }
    worker.inputs.push_back(input);
  }
}

void SourceRun::fill_cells(Worker& worker, std::size_t first_row, std::uint32_t rows) {
  worker.cells.clear();
  for (Column* column : columns_) {
    ctprof_cells& cells = worker.cells.emplace_back();
    if (!column) continue;
    prepare_cells(*column, first_row, rows);
    if (!is_pooled(column->def().storage)) cells.values = column->values_at(first_row);
    cells.gaps = column->gaps().data() + first_row;
  }
}

ctprof_batch SourceRun::batch(Worker& worker) {
  worker.message[0] = 0;
  ctprof_batch batch{};
  batch.size = sizeof batch;
  batch.rows = worker.sink.rows();
  batch.inputs = worker.inputs.data();
  batch.cells = worker.cells.data();
  batch.message = worker.message.data();
  batch.message_size = worker.message.size();
  worker.sink.connect(batch);
  return batch;
}

void SourceRun::collect(unsigned index, std::size_t first_row, std::uint32_t rows,
                        const HiddenColumns& hidden) {
  Worker& worker = *workers_[index];
  const std::uint64_t begin = boottime_ns();
  if (worker.first_ns == 0) worker.first_ns = begin;
  std::string failure;
  if (!open(worker)) {
    failure = worker.failed;
  } else {
    fill_inputs(worker, first_row, rows, hidden);
    fill_cells(worker, first_row, rows);
    worker.sink.aim(first_row, rows);
    worker.sink.forgive();
    ctprof_batch work = batch(worker);
    std::int32_t status = 0;
    failure = contained(owner_, "collect",
                        [&] { status = planned_.source->table.collect(worker.context, &work); });
    worker.message.back() = 0;
    worker.longest_stop_ns = std::max(worker.longest_stop_ns, work.longest_stop_ns);
    if (!failure.empty()) {
      // It threw; `failure` is set.
    } else if (status != 0)
      failure = worker.message[0] ? worker.message.data() : "it failed without a message";
    else if (!worker.sink.fault().empty())
      failure = "it " + worker.sink.fault();
    else if (work.rows_done != rows)
      failure = "it did " + std::to_string(work.rows_done) + " rows of a batch of " +
                std::to_string(rows);
    else if (worker.message[0])
      worker.remark = worker.message.data();
  }
  if (worker.failed.empty()) worker.failed = failure;
  settle(worker, first_row, rows, !failure.empty());
  worker.last_ns = boottime_ns();
  worker.busy_ns += worker.last_ns - begin;
}

void SourceRun::settle(Worker& worker, std::size_t first_row, std::uint32_t rows, bool failed) {
  // Only a lister may leave cells to other sources.
  const ctprof_gap barred = stage() == CTPROF_STAGE_LIST ? CTPROF_UNTOUCHED : CTPROF_UNSEEN;
  const auto is_wrong = [barred](ctprof_gap gap) {
    return (gap != CTPROF_VALUE && !may_be_written(gap)) || gap == barred;
  };
  for (Column* column : columns_) {
    if (!column) continue;
    const auto gaps = column->gaps().subspan(first_row, rows);
    settle_cells(*column, first_row, rows);
    // Most batches have no wrong cell; one branch-free pass detects that.
    unsigned wrong = 0;
    for (const ctprof_gap gap : gaps) wrong += is_wrong(gap);
    if (wrong > 0) {
      if (!failed && worker.failed.empty())
        worker.failed = "it left " + std::to_string(wrong) + " cells of '" + column->def().name +
                        "' without value or reason";
      std::replace_if(gaps.begin(), gaps.end(), is_wrong,
                      static_cast<ctprof_gap>(CTPROF_SOURCE_FAILED));
    }
  }
}

ctprof_batch* SourceRun::room(void* core) {
  auto& worker = *static_cast<Worker*>(core);
  SourceRun& run = worker.run;
  const std::size_t first = run.table_.rows;
  if (first + CTPROF_MAX_ROWS > UINT32_MAX) return nullptr;
  for (Column& column : run.table_.columns) column.resize(first + CTPROF_MAX_ROWS, Gap::Untouched);
  run.fill_cells(worker, first, CTPROF_MAX_ROWS);
  worker.sink.aim(first, CTPROF_MAX_ROWS);
  worker.listed = run.batch(worker);
  return &worker.listed;
}

void SourceRun::commit(void* core, std::uint32_t rows) {
  auto& worker = *static_cast<Worker*>(core);
  SourceRun& run = worker.run;
  if (rows > CTPROF_MAX_ROWS || worker.sink.rows() == 0) {
    worker.sink.blame("listed " + std::to_string(rows) + " rows, but the limit is " +
                      std::to_string(worker.sink.rows()));
    return;
  }
  run.settle(worker, run.table_.rows, rows, false);
  run.table_.rows += rows;
  worker.read_at->resize(run.table_.rows, boottime_ns() - run.clock_start_);
  worker.sink.aim(run.table_.rows, 0);
}

ctprof_listing SourceRun::listing(Worker& worker, const std::vector<std::uint64_t>& pids) {
  worker.message[0] = 0;
  return {.size = sizeof(ctprof_listing),
          .pids_count = static_cast<std::uint32_t>(pids.size()),
          .pids = pids.data(),
          .core = &worker,
          .room = &room,
          .commit = &commit,
          .message = worker.message.data(),
          .message_size = worker.message.size(),
          .context = host_.context};
}

// Calls a function of the source that may fail. Returns false if it did, and sets worker.error.
template <class Call>
bool SourceRun::ask(Worker& worker, const char* function, Call call) {
  const std::uint64_t begin = boottime_ns();
  if (worker.first_ns == 0) worker.first_ns = begin;
  std::string failure = asked(owner_, function, worker.message, call);
  if (failure.empty() && !worker.sink.fault().empty()) failure = "it " + worker.sink.fault();
  if (worker.failed.empty()) worker.failed = failure;
  worker.last_ns = boottime_ns();
  worker.busy_ns += worker.last_ns - begin;
  return failure.empty();
}

// Removes rows that were reserved but not committed.
void SourceRun::drop_room() {
  for (Column& column : table_.columns) column.resize(table_.rows, Gap::Untouched);
}

bool SourceRun::list(const std::vector<std::uint64_t>& pids, std::vector<std::uint64_t>& read_at) {
  Worker& worker = *workers_.front();
  worker.read_at = &read_at;
  worker.first_ns = boottime_ns();
  if (open(worker)) {
    ctprof_listing listed = listing(worker, pids);
    ask(worker, "list", [&] { return planned_.source->table.list(worker.context, &listed); });
  }
  drop_room();
  for (const std::string_view key : {kTid, kTgid})
    if (worker.failed.empty() && std::ranges::any_of(table_.find(key)->gaps(), [](ctprof_gap gap) {
          return gap != CTPROF_VALUE;
        }))
      worker.failed = "it listed a thread without a " + std::string(key);
  worker.last_ns = boottime_ns();
  worker.busy_ns = worker.last_ns - worker.first_ns;
  return worker.failed.empty();
}

bool SourceRun::start(const ctprof_window& window) {
  Worker& worker = *workers_.front();
  return open(worker) && ask(worker, "start", [&] {
           return planned_.source->table.start(worker.context, &window, worker.message.data(),
                                               worker.message.size());
         });
}

bool SourceRun::drain(std::vector<std::uint64_t>& read_at, Missed& missed) {
  Worker& worker = *workers_.front();
  worker.read_at = &read_at;
  const std::size_t first = table_.rows;
  ctprof_listing listed = listing(worker, {});
  bool told = ask(worker, "drain_exited",
                  [&] { return planned_.source->table.drain_exited(worker.context, &listed); });
  drop_room();
  missed.lost += listed.lost;
  missed.unseen += listed.unseen;
  const auto tids = std::as_const(*table_.find(kTid)).gaps().subspan(first);
  if (told && std::ranges::count(tids, CTPROF_VALUE) != std::ssize(tids)) {
    worker.failed = "it reported a thread without a tid";
    told = false;
  }
  return told;
}

bool SourceRun::stop() {
  Worker& worker = *workers_.front();
  return ask(worker, "stop", [&] {
    return planned_.source->table.stop(worker.context, worker.message.data(),
                                       worker.message.size());
  });
}

// Counts the gaps by kind, without hidden columns.
void SourceRun::count_gaps(SourceCost& cost) const {
  GapCounts counts{};
  for (const Column* column : columns_)
    if (column && !column->def().hidden) ctprof::count_gaps(column->gaps(), counts);
  for (std::size_t gap = CTPROF_VALUE + 1; gap < counts.size(); ++gap)
    if (counts[gap] > 0) cost.gaps[std::string(kGapNames[gap])] = counts[gap];
}

SourceCost SourceRun::cost() const {
  SourceCost cost{.plugin = planned_.plugin->name,
                  .source = planned_.source->name,
                  .stage = std::string(kStageNames[stage()]),
                  .start_ns = 0,
                  .wall_ns = 0,
                  .busy_ns = 0,
                  .longest_stop_ns = 0,
                  .gaps = {},
                  .failed = {},
                  .unseen_rows = {}};
  std::uint64_t first = UINT64_MAX, last = 0;
  for (const auto& each : workers_) {
    const Worker& worker = *each;
    if (worker.first_ns != 0)
      first = std::min(first, worker.first_ns), last = std::max(last, worker.last_ns);
    cost.busy_ns += worker.busy_ns;
    cost.longest_stop_ns = std::max(cost.longest_stop_ns, worker.longest_stop_ns);
    if (cost.failed.empty()) cost.failed = worker.failed;
  }
  if (last != 0) cost.start_ns = first - clock_start_, cost.wall_ns = last - first;
  count_gaps(cost);
  return cost;
}

SourceCost SourceRun::finish() {
  tallies_.assign(planned_.source->table.tallies_count, 0);
  for (const auto& each : workers_) {
    close(*each);
    if (!each->remark.empty()) remarks_.insert(each->remark);
    for (std::size_t i = 0; i < tallies_.size(); ++i) tallies_[i] += each->sink.tallies()[i];
  }
  return cost();
}

void collect_unless_held(SourceRun& source, const HeldProcesses& held, unsigned worker,
                         std::size_t first_row, std::span<const std::uint64_t> tgids,
                         const HiddenColumns& hidden) {
  const auto rows = static_cast<std::uint32_t>(tgids.size());
  if (!held.any()) return source.collect(worker, first_row, rows, hidden);
  for (const HeldRun& run : cut_at_held(held, first_row, tgids))
    run.held ? source.leave(run.first, run.rows, Gap::Busy)
             : source.collect(worker, run.first, run.rows, hidden.from(run.first - first_row));
}

}  // namespace ctprof
