#include "core/capture/source_run.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/cell_sink.hpp"
#include "core/capture/listed_rows.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::array<std::string_view, 9> kStageNames{
    "list", "thread", "process", "cgroup", "host", "exited", "record", "entity-list", "entity"};
constexpr std::array<ctprof_gap, CTPROF_MAX_ROWS> kNoGaps{};

}  // namespace

struct SourceRun::Worker {
  Worker(SourceRun& run, Pools& pools)
      : run(run),
        sink(run.columns_, pools, run.planned_.source->table.tallies_count),
        texts(run.planned_.source->reads.size()) {}

  SourceRun& run;
  CellSink sink;
  bool was_opened = false;
  bool is_usable = false;
  void* context = nullptr;
  std::vector<ctprof_input> inputs;
  std::vector<std::vector<ctprof_text>> texts;  // by input, for string columns
  std::vector<ctprof_cells> cells;
  ctprof_batch listing_batch{};  // the batch that a lister fills
  std::vector<std::uint64_t>* read_at = nullptr;
  std::array<char, kMessageBytes> message{};
  std::string error;   // the first error
  std::string remark;  // the last remark
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t busy_ns = 0;
  std::uint64_t longest_stop_ns = 0;
  std::vector<std::uint64_t> saved_tallies;
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
    Column* column = planned_.selected_offers[i] ? table_.find(def->name) : nullptr;
    if (planned_.selected_offers[i] && !column) column = &table_.add(def, Gap::Untouched);
    if (column) column->provenance = {planned_.plugin->name, planned_.source->name, Gap::None, {}};
    columns_.push_back(column);
  }
  for (unsigned i = 0; i < workers; ++i)
    workers_.push_back(std::make_unique<Worker>(*this, pools_));
}

SourceRun::~SourceRun() {
  for (const auto& worker : workers_) close_worker(*worker);
}

void SourceRun::save_tallies(unsigned worker) {
  workers_[worker]->saved_tallies = workers_[worker]->sink.tallies();
}

void SourceRun::replace_worker(unsigned index) {
  const Worker& old_worker = *workers_[index].release();
  auto worker = std::make_unique<Worker>(*this, pools_);
  worker->sink.continue_from(old_worker.saved_tallies);
  worker->error = old_worker.error;
  worker->remark = old_worker.remark;
  worker->first_ns = old_worker.first_ns;
  worker->last_ns = boottime_ns();
  worker->busy_ns = old_worker.busy_ns;
  worker->longest_stop_ns = old_worker.longest_stop_ns;
  workers_[index] = std::move(worker);
}

void SourceRun::set_gaps(std::size_t first_row, std::uint32_t rows, Gap gap) {
  for (Column* column : columns_) {
    if (!column) continue;
    if (is_pooled(column->def().storage))
      std::ranges::fill(column->ids().subspan(first_row, rows), Id{0});
    std::ranges::fill(column->gaps().subspan(first_row, rows), static_cast<ctprof_gap>(gap));
  }
}

void SourceRun::close_worker(Worker& worker) {
  if (!std::exchange(worker.is_usable, false)) return;
  std::string exception_text = run_contained(
      owner_, "close_worker", [&] { planned_.source->table.close_worker(worker.context); });
  if (worker.error.empty()) worker.error = std::move(exception_text);
}

bool SourceRun::open_worker(Worker& worker) {
  if (worker.was_opened) return worker.is_usable;
  worker.was_opened = true;
  worker.message[0] = 0;
  std::int32_t status = 1;
  worker.error = run_contained(owner_, "open_worker", [&] {
    status = planned_.source->table.open_worker(&host_, &worker.context, worker.message.data(),
                                                worker.message.size());
  });
  worker.message.back() = 0;
  worker.is_usable = worker.error.empty() && status == 0;
  if (!worker.is_usable && worker.error.empty())
    worker.error =
        worker.message[0] ? worker.message.data() : "it failed to start without a message";
  return worker.is_usable;
}

void SourceRun::fill_inputs(Worker& worker, std::size_t first_row, std::uint32_t rows,
                            const HiddenColumns& hidden) {
  worker.inputs.clear();
  for (std::size_t i = 0; i < planned_.source->reads.size(); ++i) {
    const std::string& name = planned_.source->reads[i].column;
    ctprof_input input{nullptr, nullptr};
    if (name == kTaskDir && hidden.task_dirs) {
      input = {hidden.task_dirs, kNoGaps.data()};
    } else if (name == kStatText && hidden.stats) {
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

ctprof_batch SourceRun::make_batch(Worker& worker) {
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
  if (!open_worker(worker)) {
    failure = worker.error;
  } else {
    fill_inputs(worker, first_row, rows, hidden);
    fill_cells(worker, first_row, rows);
    worker.sink.set_rows(first_row, rows);
    worker.sink.clear_error();
    ctprof_batch current_batch = make_batch(worker);
    std::int32_t status = 0;
    failure = run_contained(owner_, "collect", [&] {
      status = planned_.source->table.collect(worker.context, &current_batch);
    });
    worker.message.back() = 0;
    worker.longest_stop_ns = std::max(worker.longest_stop_ns, current_batch.longest_stop_ns);
    if (!failure.empty()) {
      // The function threw, and `failure` is set.
    } else if (status != 0)
      failure = worker.message[0] ? worker.message.data() : "it failed without a message";
    else if (!worker.sink.error().empty())
      failure = "it " + worker.sink.error();
    else if (current_batch.rows_done != rows)
      failure = "it filled " + std::to_string(current_batch.rows_done) + " rows of a batch of " +
                std::to_string(rows);
    else if (worker.message[0])
      worker.remark = worker.message.data();
  }
  if (worker.error.empty()) worker.error = failure;
  check_cells(worker, first_row, rows, !failure.empty());
  worker.last_ns = boottime_ns();
  worker.busy_ns += worker.last_ns - begin;
}

void SourceRun::check_cells(Worker& worker, std::size_t first_row, std::uint32_t rows,
                            bool has_failed) {
  // Only a lister may leave cells to other sources.
  const ctprof_gap forbidden_gap = stage() == CTPROF_STAGE_LIST ? CTPROF_UNTOUCHED : CTPROF_UNSEEN;
  const auto is_wrong = [forbidden_gap](ctprof_gap gap) {
    return (gap != CTPROF_VALUE && !may_be_written(gap)) || gap == forbidden_gap;
  };
  for (Column* column : columns_) {
    if (!column) continue;
    const auto gaps = column->gaps().subspan(first_row, rows);
    validate_cells(*column, first_row, rows);
    // Most batches have no wrong cell; one branch-free pass detects that.
    unsigned wrong_cells = 0;
    for (const ctprof_gap gap : gaps) wrong_cells += is_wrong(gap);
    if (wrong_cells > 0) {
      if (!has_failed && worker.error.empty())
        worker.error = "it left " + std::to_string(wrong_cells) + " cells of '" +
                       column->def().name + "' without value or reason";
      std::replace_if(gaps.begin(), gaps.end(), is_wrong,
                      static_cast<ctprof_gap>(CTPROF_SOURCE_FAILED));
    }
  }
}

ctprof_batch* SourceRun::reserve_rows(void* core) {
  auto& worker = *static_cast<Worker*>(core);
  SourceRun& run = worker.run;
  const std::size_t first = run.table_.rows;
  if (first + CTPROF_MAX_ROWS > UINT32_MAX) return nullptr;
  for (Column& column : run.table_.columns) column.resize(first + CTPROF_MAX_ROWS, Gap::Untouched);
  run.fill_cells(worker, first, CTPROF_MAX_ROWS);
  worker.sink.set_rows(first, CTPROF_MAX_ROWS);
  worker.listing_batch = run.make_batch(worker);
  return &worker.listing_batch;
}

void SourceRun::commit_rows(void* core, std::uint32_t rows) {
  auto& worker = *static_cast<Worker*>(core);
  SourceRun& run = worker.run;
  if (rows > CTPROF_MAX_ROWS || worker.sink.rows() == 0) {
    worker.sink.set_error("listed " + std::to_string(rows) + " rows, but the limit is " +
                          std::to_string(worker.sink.rows()));
    return;
  }
  if (run.stage() == CTPROF_STAGE_ENTITY_LIST && run.table_.rows + rows > CTPROF_MAX_ENTITY_ROWS) {
    worker.sink.set_error("listed more than " + std::to_string(CTPROF_MAX_ENTITY_ROWS) + " rows");
    return;
  }
  run.check_cells(worker, run.table_.rows, rows, false);
  run.table_.rows += rows;
  if (worker.read_at) worker.read_at->resize(run.table_.rows, boottime_ns() - run.clock_start_);
  worker.sink.set_rows(run.table_.rows, 0);
}

ctprof_listing SourceRun::make_listing(Worker& worker, const std::vector<std::uint64_t>& pids) {
  worker.message[0] = 0;
  return {.size = sizeof(ctprof_listing),
          .pids_count = static_cast<std::uint32_t>(pids.size()),
          .pids = pids.data(),
          .core = &worker,
          .room = &reserve_rows,
          .commit = &commit_rows,
          .message = worker.message.data(),
          .message_size = worker.message.size(),
          .context = host_.context};
}

// Calls a function of the source that may fail. Returns false if it did, and sets worker.error.
template <class Call>
bool SourceRun::call_source(Worker& worker, const char* function, Call call) {
  const std::uint64_t begin = boottime_ns();
  if (worker.first_ns == 0) worker.first_ns = begin;
  std::string failure = run_contained_with_status(owner_, function, worker.message, call);
  if (failure.empty() && !worker.sink.error().empty()) failure = "it " + worker.sink.error();
  if (worker.error.empty()) worker.error = failure;
  worker.last_ns = boottime_ns();
  worker.busy_ns += worker.last_ns - begin;
  return failure.empty();
}

// Removes rows that were reserved but not committed.
void SourceRun::drop_reserved_rows() {
  for (Column& column : table_.columns) column.resize(table_.rows, Gap::Untouched);
}

bool SourceRun::list(const std::vector<std::uint64_t>& pids, std::vector<std::uint64_t>& read_at) {
  Worker& worker = *workers_.front();
  worker.read_at = &read_at;
  worker.first_ns = boottime_ns();
  if (open_worker(worker)) {
    ctprof_listing listing = make_listing(worker, pids);
    call_source(worker, "list",
                [&] { return planned_.source->table.list(worker.context, &listing); });
  }
  drop_reserved_rows();
  if (worker.error.empty()) worker.error = find_listing_fault(stage(), table_, pools_);
  worker.last_ns = boottime_ns();
  worker.busy_ns = worker.last_ns - worker.first_ns;
  return worker.error.empty();
}

bool SourceRun::list_entity() {
  std::vector<std::uint64_t> read_at;
  if (list({}, read_at)) return true;
  table_.rows = 0;
  drop_reserved_rows();
  return false;
}

bool SourceRun::start(const ctprof_window& window) {
  Worker& worker = *workers_.front();
  return open_worker(worker) && call_source(worker, "start", [&] {
           return planned_.source->table.start(worker.context, &window, worker.message.data(),
                                               worker.message.size());
         });
}

bool SourceRun::drain(std::vector<std::uint64_t>& read_at, Losses& losses) {
  Worker& worker = *workers_.front();
  worker.read_at = &read_at;
  const std::size_t first = table_.rows;
  ctprof_listing listing = make_listing(worker, {});
  bool has_succeeded = call_source(worker, "drain_exited", [&] {
    return planned_.source->table.drain_exited(worker.context, &listing);
  });
  drop_reserved_rows();
  losses.lost += listing.lost;
  losses.unseen += listing.unseen;
  const auto tids = std::as_const(*table_.find(kTid)).gaps().subspan(first);
  if (has_succeeded && std::ranges::count(tids, CTPROF_VALUE) != std::ssize(tids)) {
    worker.error = "it reported a thread without a tid";
    has_succeeded = false;
  }
  return has_succeeded;
}

bool SourceRun::stop() {
  Worker& worker = *workers_.front();
  return call_source(worker, "stop", [&] {
    return planned_.source->table.stop(worker.context, worker.message.data(),
                                       worker.message.size());
  });
}

// Counts the gaps by kind, without hidden columns.
void SourceRun::count_gaps(SourceCost& cost) const {
  GapCounts counts{};
  for (const Column* column : columns_)
    if (column && !column->def().is_hidden) ctprof::count_gaps(column->gaps(), counts);
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
    if (cost.failed.empty()) cost.failed = worker.error;
  }
  if (last != 0) cost.start_ns = first - clock_start_, cost.wall_ns = last - first;
  count_gaps(cost);
  return cost;
}

SourceCost SourceRun::finish() {
  tallies_.assign(planned_.source->table.tallies_count, 0);
  for (const auto& each : workers_) {
    close_worker(*each);
    if (!each->remark.empty()) remarks_.insert(each->remark);
    map_faults_.add(each->sink.map_faults());
    for (std::size_t i = 0; i < tallies_.size(); ++i) tallies_[i] += each->sink.tallies()[i];
  }
  for (const std::string& fault : map_faults_.describe())
    remarks_.insert(owner_->file + ": " + owner_->source + ": " + fault);
  return cost();
}

}  // namespace ctprof
