#include "core/capture/thread_pass.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/base/clock.hpp"
#include "core/base/workers.hpp"
#include "core/capture/descriptors.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/capture/roots.hpp"
#include "core/capture/watched_workers.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/listing.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kThreadsPerRun = IdentityReader::kMaxRows;
constexpr std::size_t kProcessesPerPiece = 64;
// Rows per batch when no directories are kept open.
constexpr std::uint32_t kRowsPerBatch = 512;
// Processes per batch. Small, because the cost grows with memory, and few processes have most of
// it.
constexpr std::uint32_t kProcessesPerBatch = 16;

// Fewer rows are moved in less time than starting a thread takes.
constexpr std::size_t kMinRowsToShare = 4096;

// PID_MAX_LIMIT of the kernel.
constexpr std::uint64_t kMaxThreads = 4 << 20;

// Estimates the number of threads for reserving memory, from the count in /proc/loadavg: "0.52 0.58
// 0.59 1/467 11206". Returns 0 if it is unknown.
std::size_t estimate_threads(const Roots& roots) {
  sdk::TextFile file;
  const auto text = file.read(roots.proc_fd.get(), "loadavg");
  if (!text) return 0;
  std::string_view rest = text.value;
  sdk::take(rest, '/');
  return static_cast<std::size_t>(
      std::min(sdk::number<std::uint64_t>(sdk::take(rest, ' ')).value, kMaxThreads));
}

// One identity reader per worker.
class Readers {
 public:
  using Make = std::function<std::unique_ptr<IdentityReader>()>;

  Readers(unsigned workers, Make make) : make_(std::move(make)) {
    for (unsigned i = 0; i < workers; ++i) readers_.push_back(make_());
  }
  IdentityReader& operator[](unsigned worker) { return *readers_[worker]; }
  // Leaks the old reader, because the kernel may still write to its memory.
  void replace(unsigned worker) {
    readers_[worker].release()->release();
    readers_[worker] = make_();
  }

 private:
  Make make_;
  std::vector<std::unique_ptr<IdentityReader>> readers_;
};

// Returns whether workers run the source in this pass.
bool runs_in_workers(const SourceRun& source) {
  return source.stage() == CTPROF_STAGE_THREAD || source.stage() == CTPROF_STAGE_PROCESS;
}

void update_max(std::atomic<std::uint64_t>& maximum, std::uint64_t value) {
  for (std::uint64_t now = maximum; now < value && !maximum.compare_exchange_weak(now, value);) {
  }
}

// Collects the rows from `first_row` on; `tgids`: their processes. The rows of blocking processes
// become Busy.
void collect_unless_blocked(SourceRun& source, const BlockingProcesses& blocking, unsigned worker,
                            std::size_t first_row, std::span<const std::uint64_t> tgids,
                            const HiddenColumns& hidden) {
  const auto rows = static_cast<std::uint32_t>(tgids.size());
  if (!blocking.is_any()) return source.collect(worker, first_row, rows, hidden);
  for (const BlockingRun& run : split_by_blocking(blocking, first_row, tgids))
    run.is_blocking
        ? source.set_gaps(run.first, run.rows, Gap::Busy)
        : source.collect(worker, run.first, run.rows, hidden.from_row(run.first - first_row));
}

std::size_t count_pieces(std::size_t items, std::size_t size) { return (items + size - 1) / size; }

}  // namespace

Result<SourceRun*> ThreadPass::run() {
  const DescriptorShare share = share_descriptors(workers, kThreadsPerRun);
  workers = share.workers;
  directories = share.directories;
  const auto lister = std::find_if(sources.begin(), sources.end(), [](const SourceRun& run) {
    return run.stage() == CTPROF_STAGE_LIST;
  });
  const bool is_listed = lister != sources.end();
  if (!is_listed) {
    CTPROF_TRY(walk_proc());
  } else if (!list_with(*lister)) {
    return &*lister;
  }
  set_process_names();
  add_process_rows(snapshot);
  collect(is_listed);
  use_source_read_times();
  return static_cast<SourceRun*>(nullptr);
}

Result<void> ThreadPass::walk_proc() {
  CTPROF_TRY_VALUE(const auto listed, list_threads());
  snapshot.meta.rows_listed = listed.size();
  read_runs(listed);
  return {};
}

Result<std::vector<ThreadId>> ThreadPass::list_threads() {
  Walker walker;
  CTPROF_TRY_VALUE(auto tgids, pids.empty() ? walker.processes(roots.proc_fd.get())
                                            : Result<std::vector<std::uint64_t>>(pids));
  std::sort(tgids.begin(), tgids.end());
  tgids.erase(std::unique(tgids.begin(), tgids.end()), tgids.end());
  const std::size_t count = count_pieces(tgids.size(), kProcessesPerPiece);
  std::vector<std::vector<ThreadId>> threads_by_piece(count);
  std::vector<Walker> walkers(workers);
  std::atomic<int> failed{0};
  share_work(workers, count, [&](unsigned worker, std::size_t piece) {
    const std::size_t first = piece * kProcessesPerPiece,
                      last = std::min(first + kProcessesPerPiece, tgids.size());
    for (std::size_t i = first; i < last; ++i)
      if (const int error =
              walkers[worker].threads(roots.proc_fd.get(), tgids[i], threads_by_piece[piece]);
          sdk::is_shortage(error))
        failed = error;
  });
  if (failed) return errno_error("listing the threads in", "/proc", failed);
  std::vector<ThreadId> threads;
  for (const auto& part : threads_by_piece) threads.insert(threads.end(), part.begin(), part.end());
  return threads;
}

void ThreadPass::read_runs(const std::vector<ThreadId>& listed) {
  Table& table = snapshot.threads();
  table.rows = listed.size();
  for (Column& column : table.columns) column.resize(table.rows, Gap::Untouched);
  snapshot.read_at.resize(table.rows);
  IdentityColumns columns = identity_columns(table);
  ThreadedCgroups threaded_cgroups(roots);
  Readers readers(workers, [&] {
    auto reader =
        std::make_unique<IdentityReader>(roots, columns, snapshot.pools->texts, threaded_cgroups,
                                         blocking, snapshot.read_at, clock_start);
    reader->set_open_directories(directories);
    return reader;
  });
  const std::uint64_t start = boottime_ns() - clock_start;
  std::vector<std::uint32_t> living_rows(count_pieces(listed.size(), kThreadsPerRun));
  const auto read_run = [&](unsigned worker, std::size_t run) {
    const std::size_t first = run * kThreadsPerRun;
    IdentityReader& reader = readers[worker];
    save_tallies(worker);
    living_rows[run] =
        reader.read(std::span(listed).subspan(
                        first, std::min<std::size_t>(kThreadsPerRun, listed.size() - first)),
                    first);
    run_sources(worker, first, living_rows[run], reader.hidden_columns());
    reader.release();
  };
  const auto tids =
      share_watched_work(workers, living_rows.size(), read_run,
                         {roots.watched_proc_fd(), [&](unsigned worker, std::uint64_t process) {
                            replace_worker(worker, process);
                            readers.replace(worker);
                          }});
  if (roots.has_own_tids) snapshot.meta.own_threads = tids;
  const std::uint64_t end = boottime_ns() - clock_start;
  remove_exited_rows(living_rows);
  if (snapshot.threads().rows > 0) read_span = {start, end};
}

// Removes the rows of threads that exited before anything was read.
void ThreadPass::remove_exited_rows(const std::vector<std::uint32_t>& living_rows) {
  Table& table = snapshot.threads();
  const std::size_t rows = std::accumulate(living_rows.begin(), living_rows.end(), std::size_t{0});
  if (rows == table.rows) return;
  for (Column& column : table.columns) {
    std::size_t to = 0;
    for (std::size_t run = 0; run < living_rows.size(); to += living_rows[run++])
      column.move_rows(to, run * kThreadsPerRun, living_rows[run]);
    column.resize(rows, Gap::Untouched);
  }
  std::size_t to = 0;
  for (std::size_t run = 0; run < living_rows.size(); to += living_rows[run++])
    std::copy_n(snapshot.read_at.begin() + static_cast<std::ptrdiff_t>(run * kThreadsPerRun),
                living_rows[run], snapshot.read_at.begin() + static_cast<std::ptrdiff_t>(to));
  snapshot.read_at.resize(rows);
  snapshot.meta.rows_absent = table.rows - rows;
  table.rows = rows;
}

bool ThreadPass::list_with(SourceRun& lister) {
  Table& table = snapshot.threads();
  const std::uint64_t start = boottime_ns() - clock_start;
  const std::size_t expected = pids.empty() ? estimate_threads(roots) : 0;
  for (Column& column : table.columns) column.reserve(expected + CTPROF_MAX_ROWS);
  if (!lister.list(pids, snapshot.read_at)) return false;
  snapshot.meta.rows_listed = table.rows;
  // A lister need not fill these columns.
  for (const std::string_view name : {kParent, kKernelThread})
    std::ranges::replace(table.find(name)->gaps(), ctprof_gap{CTPROF_UNTOUCHED},
                         ctprof_gap{CTPROF_UNSUPPORTED});
  use_source_read_times();
  if (table.rows > 0) read_span = {start, *std::ranges::max_element(snapshot.read_at)};
  std::vector<std::uint32_t> order(table.rows);
  std::iota(order.begin(), order.end(), 0u);
  const auto tid = table.find(kTid)->u64(), tgid = table.find(kTgid)->u64();
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(tgid[a], tid[a]) < std::pair(tgid[b], tid[b]);
  };
  // Most threads are already in order.
  const auto disorder = std::is_sorted_until(order.begin(), order.end(), is_before);
  if (disorder == order.end()) return true;
  std::sort(disorder, order.end(), is_before);
  std::inplace_merge(order.begin(), disorder, order.end(), is_before);
  reorder(order);
  const std::vector<std::uint64_t> read_at = snapshot.read_at;
  for (std::size_t row = 0; row < order.size(); ++row) snapshot.read_at[row] = read_at[order[row]];
  return true;
}

void ThreadPass::reorder(const std::vector<std::uint32_t>& order) {
  Table& table = snapshot.threads();
  const std::vector<RowRange> runs = find_row_ranges(order);
  std::vector<std::vector<std::byte>> scratch(workers);
  share_work(order.size() < kMinRowsToShare ? 1 : workers, table.columns.size(),
             [&](unsigned worker, std::size_t column) {
               table.columns[column].reorder_rows(runs, scratch[worker]);
             });
}

// A source may report more exact times at which it read the run times of threads.
void ThreadPass::use_source_read_times() {
  const Table& table = snapshot.threads();
  const Column* read_at = table.find(kReadAt);
  if (!read_at) return;
  const std::uint64_t now = boottime_ns();
  for (std::size_t row = 0; row < table.rows; ++row)
    if (const std::uint64_t at = read_at->u64()[row];
        read_at->has_value(row) && at >= clock_start && at <= now)
      snapshot.read_at[row] = at - clock_start;
}

void ThreadPass::collect(bool uses_lister) {
  Table& table = snapshot.threads();
  IdentityColumns columns = identity_columns(table);
  const bool reads_cgroups =
      uses_lister && columns.cgroup.provenance.plugin == identity_metric(kCgroup).plugin;
  ThreadedCgroups threaded_cgroups(roots);
  Readers readers(workers, [&] {
    return std::make_unique<IdentityReader>(roots, columns, snapshot.pools->texts, threaded_cgroups,
                                            blocking, snapshot.read_at, clock_start);
  });
  std::atomic<std::uint64_t> last{0};
  const auto read_threads = [&](unsigned worker, std::size_t run) {
    const std::size_t first = run * kRowsPerBatch;
    const auto rows =
        static_cast<std::uint32_t>(std::min<std::size_t>(kRowsPerBatch, table.rows - first));
    save_tallies(worker);
    if (reads_cgroups) readers[worker].read_cgroups(first, rows);
    run_sources(worker, first, rows, {});
    update_max(last, boottime_ns() - clock_start);
  };
  const bool reads_threads = uses_lister && (reads_cgroups || has_thread_stage());
  const std::size_t thread_runs = reads_threads ? count_pieces(table.rows, kRowsPerBatch) : 0;
  const auto tids = share_watched_work(
      workers, thread_runs + count_pieces(snapshot.table(Entity::Process).rows, kProcessesPerBatch),
      [&](unsigned worker, std::size_t run) {
        run < thread_runs ? read_threads(worker, run)
                          : run_process_sources(worker, run - thread_runs);
      },
      {.proc = roots.watched_proc_fd(),
       .replace_worker =
           [&](unsigned worker, std::uint64_t process) {
             replace_worker(worker, process);
             readers.replace(worker);
           },
       .from_both_ends = true});
  if (roots.has_own_tids && uses_lister) snapshot.meta.own_threads = tids;
  if (read_span && reads_threads) read_span->last = last;
}

bool ThreadPass::has_thread_stage() const {
  return std::ranges::any_of(
      sources, [](const SourceRun& source) { return source.stage() == CTPROF_STAGE_THREAD; });
}

void ThreadPass::run_sources(unsigned worker, std::size_t first_row, std::uint32_t rows,
                             const HiddenColumns& hidden) {
  const auto tgids = snapshot.threads().find(kTgid)->u64().subspan(first_row, rows);
  for (SourceRun& source : sources)
    if (source.stage() == CTPROF_STAGE_THREAD && rows > 0)
      collect_unless_blocked(source, blocking, worker, first_row, tgids, hidden);
}

void ThreadPass::run_process_sources(unsigned worker, std::size_t run) {
  const Table& table = snapshot.table(Entity::Process);
  const std::size_t first = run * kProcessesPerBatch;
  const auto tgids =
      table.find(kProcessTgid)
          ->u64()
          .subspan(first, std::min<std::size_t>(kProcessesPerBatch, table.rows - first));
  save_tallies(worker);
  for (SourceRun& source : sources)
    if (source.stage() == CTPROF_STAGE_PROCESS)
      collect_unless_blocked(source, blocking, worker, first, tgids, {});
}

void ThreadPass::save_tallies(unsigned worker) {
  for (SourceRun& source : sources)
    if (runs_in_workers(source)) source.save_tallies(worker);
}

void ThreadPass::replace_worker(unsigned worker, std::uint64_t process) {
  blocking.add(process);
  for (SourceRun& source : sources)
    if (runs_in_workers(source)) source.replace_worker(worker);
}

// Sets the name of each process to that of its leader. If the leader has no row, reads its name
// again.
void ThreadPass::set_process_names() {
  Table& table = snapshot.threads();
  Column& pcomm = *table.find(kPcomm);
  const Column& comm = *table.find(kComm);
  const auto tid = table.find(kTid)->u64(), tgid = table.find(kTgid)->u64();
  sdk::TextFile file;
  for (std::size_t first = 0, last = 0; first < table.rows; first = last) {
    while (last < table.rows && tgid[last] == tgid[first]) ++last;
    std::size_t leader = first;
    while (leader < last && tid[leader] != tgid[first]) ++leader;
    std::optional<Id> id;
    Gap gap = Gap::None;
    if (leader < last && comm.has_value(leader))
      id = comm.ids()[leader];
    else if (const auto text =
                 file.read(roots.proc_fd.get(), (std::to_string(tgid[first]) + "/comm").c_str()))
      id = snapshot.pools->texts.intern(sdk::name_in_comm(text.value));
    else
      gap = text.gap;
    for (std::size_t row = first; row < last; ++row) {
      pcomm.ids()[row] = id.value_or(0);
      pcomm.gaps()[row] = static_cast<ctprof_gap>(gap);
    }
  }
}

}  // namespace ctprof
