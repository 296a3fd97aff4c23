#include "core/capture/source_run.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::array<std::string_view, 5> kStageNames{"list", "thread", "process", "cgroup", "host"};
constexpr std::array<ctprof_gap, CTPROF_MAX_ROWS> kNoGaps{};

}  // namespace

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Where the put_* callbacks of one batch go.
struct SourceRun::Sink {
  SourceRun* run = nullptr;
  Worker* worker = nullptr;
  std::size_t first_row = 0;
  std::uint32_t rows = 0;
  std::string fault;  // of the first call that reached beyond the batch

  // The cell's column, or null after noting why there is none. An unwanted column swallows quietly.
  Column* column(std::uint32_t offer, std::uint32_t row, Storage storage) {
    if (offer >= run->columns_.size())
      return blame("put a value into offer " + std::to_string(offer) + ", which it does not have");
    if (row >= rows) return blame("put a value into row " + std::to_string(row) + " of a batch of " + std::to_string(rows));
    Column* column = run->columns_[offer];
    if (column && column->def().storage != storage)
      return blame("put a " + std::string(name(storage)) + " into '" + column->def().name + "'");
    return column;
  }
  Column* blame(std::string why) {
    if (fault.empty()) fault = std::move(why);
    return nullptr;
  }
  void put(Column& column, std::uint32_t row, Id id) const {
    column.ids()[first_row + row] = id;
    column.gaps()[first_row + row] = CTPROF_VALUE;
  }

  static void put_text(void* core, std::uint32_t offer, std::uint32_t row, const char* data, std::size_t size);
  static void put_bits(void* core, std::uint32_t offer, std::uint32_t row, const std::uint64_t* words, std::size_t count);
  static void put_map(void* core, std::uint32_t offer, std::uint32_t row, const ctprof_entry* entries, std::size_t count);
  static void put_array(void* core, std::uint32_t offer, std::uint32_t row, const std::uint64_t* values, std::size_t count);
  static void tally(void* core, std::uint32_t tally, std::uint64_t count);
};

struct SourceRun::Worker {
  explicit Worker(TextPool& texts) : cache(texts) {}

  bool opened = false;
  bool usable = false;
  void* context = nullptr;
  TextCache cache;
  std::vector<ctprof_input> inputs;
  std::vector<std::vector<ctprof_text>> texts;  // by read, for columns of strings
  std::vector<ctprof_cells> cells;
  Sink sink;
  ctprof_batch listed{};  // the batch that a lister fills
  std::vector<std::uint64_t>* read_at = nullptr;
  std::vector<std::uint64_t> tallies;
  std::array<char, 512> message{};
  std::string failed;  // the first sentence
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t busy_ns = 0;
  std::uint64_t longest_stop_ns = 0;
};

void SourceRun::Sink::put_text(void* core, std::uint32_t offer, std::uint32_t row, const char* data, std::size_t size) {
  auto& sink = *static_cast<Sink*>(core);
  if (Column* column = sink.column(offer, row, Storage::String)) sink.put(*column, row, sink.worker->cache.intern({data, size}));
}

void SourceRun::Sink::put_bits(void* core, std::uint32_t offer, std::uint32_t row, const std::uint64_t* words,
                               std::size_t count) {
  auto& sink = *static_cast<Sink*>(core);
  while (count > 0 && words[count - 1] == 0) --count;
  if (Column* column = sink.column(offer, row, Storage::Bitset))
    sink.put(*column, row, sink.run->pools_.words.intern({words, count}));
}

void SourceRun::Sink::put_map(void* core, std::uint32_t offer, std::uint32_t row, const ctprof_entry* entries,
                              std::size_t count) {
  auto& sink = *static_cast<Sink*>(core);
  if (Column* column = sink.column(offer, row, Storage::Map))
    sink.put(*column, row, sink.run->pools_.maps.append({entries, count}, sink.run->pools_.texts));
}

void SourceRun::Sink::put_array(void* core, std::uint32_t offer, std::uint32_t row, const std::uint64_t* values,
                                std::size_t count) {
  auto& sink = *static_cast<Sink*>(core);
  if (Column* column = sink.column(offer, row, Storage::Array))
    sink.put(*column, row, sink.run->pools_.words.intern({values, count}));
}

void SourceRun::Sink::tally(void* core, std::uint32_t tally, std::uint64_t count) {
  auto& sink = *static_cast<Sink*>(core);
  if (tally >= sink.worker->tallies.size())
    sink.blame("counted in tally " + std::to_string(tally) + ", which it does not have");
  else
    sink.worker->tallies[tally] += count;
}

SourceRun::SourceRun(const PlannedSource& planned, Table& table, Pools& pools, const ctprof_host& host, unsigned workers,
                     std::uint64_t clock_start)
    : planned_(planned), table_(table), pools_(pools), host_(host), clock_start_(clock_start) {
  for (std::size_t i = 0; i < planned_.source->offers.size(); ++i) {
    const MetricDef& def = planned_.source->offers[i].metric;
    Column* column = planned_.chosen[i] ? table_.find(def.name) : nullptr;
    if (planned_.chosen[i] && !column) column = &table_.add(def, Gap::Untouched);
    if (column) column->provenance = {planned_.plugin->name, planned_.source->name, Gap::None, {}};
    columns_.push_back(column);
  }
  for (unsigned i = 0; i < workers; ++i) {
    Worker& worker = workers_.emplace_back(pools_.texts);
    worker.sink.run = this;
    worker.sink.worker = &worker;
    worker.tallies.resize(planned_.source->table.tallies_count);
    worker.texts.resize(planned_.source->reads.size());
  }
}

SourceRun::~SourceRun() {
  for (Worker& worker : workers_)
    if (worker.usable) planned_.source->table.close_worker(worker.context);
}

bool SourceRun::open(Worker& worker) {
  if (worker.opened) return worker.usable;
  worker.opened = true;
  worker.message[0] = 0;
  worker.usable = planned_.source->table.open_worker(&host_, &worker.context, worker.message.data(), worker.message.size()) == 0;
  if (!worker.usable) worker.failed = worker.message[0] ? worker.message.data() : "it could not start, and does not say why";
  return worker.usable;
}

void SourceRun::fill_inputs(Worker& worker, std::size_t first_row, std::uint32_t rows, const HiddenColumns& hidden) {
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

void SourceRun::fill_cells(Worker& worker, std::size_t first_row) {
  worker.cells.clear();
  for (Column* column : columns_) {
    if (!column) {
      worker.cells.push_back({nullptr, nullptr});
      continue;
    }
    void* values = is_pooled(column->def().storage) ? nullptr : column->values_at(first_row);
    worker.cells.push_back({values, column->gaps().data() + first_row});
  }
}

ctprof_batch SourceRun::batch(Worker& worker, std::uint32_t rows) {
  worker.sink.fault.clear();
  worker.message[0] = 0;
  return {.size = sizeof(ctprof_batch),
          .rows = rows,
          .inputs = worker.inputs.data(),
          .cells = worker.cells.data(),
          .core = &worker.sink,
          .put_text = &Sink::put_text,
          .put_bits = &Sink::put_bits,
          .put_map = &Sink::put_map,
          .put_array = &Sink::put_array,
          .tally = &Sink::tally,
          .rows_done = 0,
          .reserved = 0,
          .longest_stop_ns = 0,
          .message = worker.message.data(),
          .message_size = worker.message.size()};
}

void SourceRun::collect(unsigned index, std::size_t first_row, std::uint32_t rows, const HiddenColumns& hidden) {
  Worker& worker = workers_[index];
  const std::uint64_t begin = now_ns();
  if (worker.first_ns == 0) worker.first_ns = begin;
  std::string failure;
  if (!open(worker)) {
    failure = worker.failed;
  } else {
    fill_inputs(worker, first_row, rows, hidden);
    fill_cells(worker, first_row);
    worker.sink.first_row = first_row;
    worker.sink.rows = rows;
    ctprof_batch work = batch(worker, rows);
    const std::int32_t status = planned_.source->table.collect(worker.context, &work);
    worker.message.back() = 0;
    worker.longest_stop_ns = std::max(worker.longest_stop_ns, work.longest_stop_ns);
    if (status != 0)
      failure = worker.message[0] ? worker.message.data() : "it failed, and does not say why";
    else if (!worker.sink.fault.empty())
      failure = "it " + worker.sink.fault;
    else if (work.rows_done != rows)
      failure = "it did " + std::to_string(work.rows_done) + " rows of a batch of " + std::to_string(rows);
  }
  if (worker.failed.empty()) worker.failed = failure;
  settle(worker, first_row, rows, !failure.empty());
  worker.last_ns = now_ns();
  worker.busy_ns += worker.last_ns - begin;
}

void SourceRun::settle(Worker& worker, std::size_t first_row, std::uint32_t rows, bool failed) {
  const auto is_wrong = [](ctprof_gap gap) { return gap != CTPROF_VALUE && !may_be_written(gap); };
  for (Column* column : columns_) {
    if (!column) continue;
    const auto gaps = column->gaps().subspan(first_row, rows);
    // Most batches have nothing wrong; one pass without a branch finds that out.
    unsigned wrong = 0;
    for (const ctprof_gap gap : gaps) wrong += is_wrong(gap);
    if (wrong > 0) {
      if (!failed && worker.failed.empty())
        worker.failed = "it left " + std::to_string(wrong) + " cells of '" + column->def().name + "' without value or reason";
      std::replace_if(gaps.begin(), gaps.end(), is_wrong, static_cast<ctprof_gap>(CTPROF_SOURCE_FAILED));
    }
    if (column->def().storage == Storage::Bool)
      for (std::uint8_t& value : column->bools().subspan(first_row, rows)) value = value ? 1 : 0;
  }
}

ctprof_batch* SourceRun::room(void* core) {
  auto& worker = *static_cast<Worker*>(core);
  SourceRun& run = *worker.sink.run;
  const std::size_t first = run.table_.rows;
  if (first + CTPROF_MAX_ROWS > UINT32_MAX) return nullptr;
  for (Column& column : run.table_.columns) column.resize(first + CTPROF_MAX_ROWS, Gap::Untouched);
  run.fill_cells(worker, first);
  worker.sink.first_row = first;
  worker.sink.rows = CTPROF_MAX_ROWS;
  const std::string fault = worker.sink.fault;
  worker.listed = run.batch(worker, CTPROF_MAX_ROWS);
  worker.sink.fault = fault;
  return &worker.listed;
}

void SourceRun::commit(void* core, std::uint32_t rows) {
  auto& worker = *static_cast<Worker*>(core);
  SourceRun& run = *worker.sink.run;
  if (rows > CTPROF_MAX_ROWS || worker.sink.rows == 0) {
    worker.sink.blame("listed " + std::to_string(rows) + " rows where there was room for " + std::to_string(worker.sink.rows));
    return;
  }
  run.settle(worker, run.table_.rows, rows, false);
  run.table_.rows += rows;
  worker.read_at->resize(run.table_.rows, now_ns() - run.clock_start_);
  worker.sink.rows = 0;
}

bool SourceRun::list(const std::vector<std::uint64_t>& pids, std::vector<std::uint64_t>& read_at) {
  Worker& worker = workers_.front();
  worker.first_ns = now_ns();
  worker.read_at = &read_at;
  if (open(worker)) {
    ctprof_listing listing{.size = sizeof(ctprof_listing),
                           .pids_count = static_cast<std::uint32_t>(pids.size()),
                           .pids = pids.data(),
                           .core = &worker,
                           .room = &room,
                           .commit = &commit,
                           .message = worker.message.data(),
                           .message_size = worker.message.size()};
    worker.message[0] = 0;
    const std::int32_t status = planned_.source->table.list(worker.context, &listing);
    worker.message.back() = 0;
    if (status != 0)
      worker.failed = worker.message[0] ? worker.message.data() : "it failed, and does not say why";
    else if (!worker.sink.fault.empty())
      worker.failed = "it " + worker.sink.fault;
  }
  for (Column& column : table_.columns) column.resize(table_.rows, Gap::Untouched);
  for (const std::string_view key : {kTid, kTgid})
    if (worker.failed.empty() &&
        std::ranges::any_of(table_.find(key)->gaps(), [](ctprof_gap gap) { return gap != CTPROF_VALUE; }))
      worker.failed = "it listed a thread without a " + std::string(key);
  worker.last_ns = now_ns();
  worker.busy_ns = worker.last_ns - worker.first_ns;
  return worker.failed.empty();
}

void SourceRun::count_gaps(SourceCost& cost) const {
  for (const Column* column : columns_)
    if (column)
      for (const ctprof_gap gap : column->gaps())
        if (gap != CTPROF_VALUE) ++cost.gaps[std::string(kGapNames[gap])];
}

SourceCost SourceRun::finish() {
  SourceCost cost{.plugin = planned_.plugin->name,
                  .source = planned_.source->name,
                  .stage = std::string(kStageNames[stage()]),
                  .start_ns = 0,
                  .wall_ns = 0,
                  .busy_ns = 0,
                  .longest_stop_ns = 0,
                  .gaps = {},
                  .failed = {}};
  std::uint64_t first = UINT64_MAX, last = 0;
  tallies_.assign(planned_.source->table.tallies_count, 0);
  for (Worker& worker : workers_) {
    if (worker.usable) planned_.source->table.close_worker(worker.context);
    worker.usable = false;
    if (worker.first_ns != 0) first = std::min(first, worker.first_ns), last = std::max(last, worker.last_ns);
    cost.busy_ns += worker.busy_ns;
    cost.longest_stop_ns = std::max(cost.longest_stop_ns, worker.longest_stop_ns);
    if (cost.failed.empty()) cost.failed = worker.failed;
    for (std::size_t i = 0; i < tallies_.size(); ++i) tallies_[i] += worker.tallies[i];
  }
  if (last != 0) cost.start_ns = first - clock_start_, cost.wall_ns = last - first;
  count_gaps(cost);
  return cost;
}

}  // namespace ctprof
