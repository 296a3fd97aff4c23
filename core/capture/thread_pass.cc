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
#include "core/capture/watched.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/listing.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kThreadsPerRun = IdentityReader::kRows;
constexpr std::size_t kProcessesPerPiece = 64;
// Rows per batch when no directories are kept open.
constexpr std::uint32_t kListedRun = 512;
// Processes per batch. Small, because the cost grows with memory, and few processes have most of
// it.
constexpr std::uint32_t kProcessRun = 16;

// Fewer rows are moved in less time than starting a thread takes.
constexpr std::size_t kRowsToShare = 4096;

// PID_MAX_LIMIT of the kernel.
constexpr std::uint64_t kMostThreads = 4 << 20;

// Estimates the number of threads for reserving memory, from the count in /proc/loadavg: "0.52 0.58
// 0.59 1/467 11206". Returns 0 if it is unknown.
std::size_t threads_of_host(const Roots& roots) {
  sdk::TextFile file;
  const auto text = file.read(roots.proc_fd.get(), "loadavg");
  if (!text) return 0;
  std::string_view rest = text.value;
  sdk::take(rest, '/');
  return static_cast<std::size_t>(
      std::min(sdk::number<std::uint64_t>(sdk::take(rest, ' ')).value, kMostThreads));
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
bool is_run_here(const SourceRun& source) {
  return source.stage() == CTPROF_STAGE_THREAD || source.stage() == CTPROF_STAGE_PROCESS;
}

void raise(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  for (std::uint64_t now = most; now < value && !most.compare_exchange_weak(now, value);) {
  }
}

std::size_t pieces(std::size_t items, std::size_t size) { return (items + size - 1) / size; }

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
    if (auto walked = walk(); !walked) return walked.error();
  } else if (!list_by(*lister)) {
    return &*lister;
  }
  name_processes();
  add_process_rows(snapshot);
  collect(is_listed);
  take_moments();
  return static_cast<SourceRun*>(nullptr);
}

Result<void> ThreadPass::walk() {
  const auto listed = list_threads();
  if (!listed) return listed.error();
  snapshot.meta.rows_listed = listed->size();
  read_runs(*listed);
  return {};
}

Result<std::vector<ThreadId>> ThreadPass::list_threads() {
  Walker walker;
  auto tgids = pids.empty() ? walker.processes(roots.proc_fd.get())
                            : Result<std::vector<std::uint64_t>>(pids);
  if (!tgids) return tgids.error();
  std::sort(tgids->begin(), tgids->end());
  tgids->erase(std::unique(tgids->begin(), tgids->end()), tgids->end());
  const std::size_t count = pieces(tgids->size(), kProcessesPerPiece);
  std::vector<std::vector<ThreadId>> found(count);
  std::vector<Walker> walkers(workers);
  std::atomic<int> failed{0};
  share(workers, count, [&](unsigned worker, std::size_t piece) {
    const std::size_t first = piece * kProcessesPerPiece,
                      last = std::min(first + kProcessesPerPiece, tgids->size());
    for (std::size_t i = first; i < last; ++i)
      if (const int error = walkers[worker].threads(roots.proc_fd.get(), (*tgids)[i], found[piece]);
          sdk::is_shortage(error))
        failed = error;
  });
  if (failed) return errno_error("listing the threads in", "/proc", failed);
  std::vector<ThreadId> threads;
  for (const auto& part : found) threads.insert(threads.end(), part.begin(), part.end());
  return threads;
}

void ThreadPass::read_runs(const std::vector<ThreadId>& listed) {
  Table& table = snapshot.threads();
  table.rows = listed.size();
  for (Column& column : table.columns) column.resize(table.rows, Gap::Untouched);
  snapshot.read_at.resize(table.rows);
  IdentityColumns columns = identity_columns(table);
  ThreadedCgroups threaded(roots);
  Readers readers(workers, [&] {
    auto reader = std::make_unique<IdentityReader>(roots, columns, snapshot.pools->texts, threaded,
                                                   held, snapshot.read_at, clock_start);
    reader->keep_open(directories);
    return reader;
  });
  const std::uint64_t start = boottime_ns() - clock_start;
  std::vector<std::uint32_t> alive(pieces(listed.size(), kThreadsPerRun));
  const auto read_run = [&](unsigned worker, std::size_t run) {
    const std::size_t first = run * kThreadsPerRun;
    IdentityReader& reader = readers[worker];
    keep_counts(worker);
    alive[run] =
        reader.read(std::span(listed).subspan(
                        first, std::min<std::size_t>(kThreadsPerRun, listed.size() - first)),
                    first);
    run_sources(worker, first, alive[run], reader.hidden());
    reader.release();
  };
  const auto tids =
      share_watched(workers, alive.size(), read_run,
                    {roots.proc_that_may_hang(), [&](unsigned worker, std::uint64_t process) {
                       replace(worker, process);
                       readers.replace(worker);
                     }});
  if (roots.own_tids) snapshot.meta.own_threads = tids;
  const std::uint64_t end = boottime_ns() - clock_start;
  compact(alive);
  if (snapshot.threads().rows > 0) read = {start, end};
}

// Removes the rows of threads that exited before anything was read.
void ThreadPass::compact(const std::vector<std::uint32_t>& alive) {
  Table& table = snapshot.threads();
  const std::size_t rows = std::accumulate(alive.begin(), alive.end(), std::size_t{0});
  if (rows == table.rows) return;
  for (Column& column : table.columns) {
    std::size_t to = 0;
    for (std::size_t run = 0; run < alive.size(); to += alive[run++])
      column.move_rows(to, run * kThreadsPerRun, alive[run]);
    column.resize(rows, Gap::Untouched);
  }
  std::size_t to = 0;
  for (std::size_t run = 0; run < alive.size(); to += alive[run++])
    std::copy_n(snapshot.read_at.begin() + static_cast<std::ptrdiff_t>(run * kThreadsPerRun),
                alive[run], snapshot.read_at.begin() + static_cast<std::ptrdiff_t>(to));
  snapshot.read_at.resize(rows);
  snapshot.meta.rows_absent = table.rows - rows;
  table.rows = rows;
}

bool ThreadPass::list_by(SourceRun& lister) {
  Table& table = snapshot.threads();
  const std::uint64_t start = boottime_ns() - clock_start;
  const std::size_t expected = pids.empty() ? threads_of_host(roots) : 0;
  for (Column& column : table.columns) column.reserve(expected + CTPROF_MAX_ROWS);
  if (!lister.list(pids, snapshot.read_at)) return false;
  snapshot.meta.rows_listed = table.rows;
  // A lister need not fill these columns.
  for (const std::string_view name : {kParent, kKernelThread})
    std::ranges::replace(table.find(name)->gaps(), ctprof_gap{CTPROF_UNTOUCHED},
                         ctprof_gap{CTPROF_UNSUPPORTED});
  take_moments();
  if (table.rows > 0) read = {start, *std::ranges::max_element(snapshot.read_at)};
  std::vector<std::uint32_t> order(table.rows);
  std::iota(order.begin(), order.end(), 0u);
  const auto tid = table.find(kTid)->u64(), tgid = table.find(kTgid)->u64();
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(tgid[a], tid[a]) < std::pair(tgid[b], tid[b]);
  };
  // Most threads are already in order.
  const auto disorder = std::is_sorted_until(order.begin(), order.end(), before);
  if (disorder == order.end()) return true;
  std::sort(disorder, order.end(), before);
  std::inplace_merge(order.begin(), disorder, order.end(), before);
  reorder(order);
  const std::vector<std::uint64_t> read_at = snapshot.read_at;
  for (std::size_t row = 0; row < order.size(); ++row) snapshot.read_at[row] = read_at[order[row]];
  return true;
}

void ThreadPass::reorder(const std::vector<std::uint32_t>& order) {
  Table& table = snapshot.threads();
  const std::vector<RowRun> runs = runs_of(order);
  std::vector<std::vector<std::byte>> scratch(workers);
  share(order.size() < kRowsToShare ? 1 : workers, table.columns.size(),
        [&](unsigned worker, std::size_t column) {
          table.columns[column].permute(runs, scratch[worker]);
        });
}

// A source may report more exact times at which it read the run times of threads.
void ThreadPass::take_moments() {
  const Table& table = snapshot.threads();
  const Column* read_at = table.find(kReadAt);
  if (!read_at) return;
  const std::uint64_t now = boottime_ns();
  for (std::size_t row = 0; row < table.rows; ++row)
    if (const std::uint64_t at = read_at->u64()[row];
        read_at->has_value(row) && at >= clock_start && at <= now)
      snapshot.read_at[row] = at - clock_start;
}

void ThreadPass::collect(bool threads_are_listed) {
  Table& table = snapshot.threads();
  IdentityColumns columns = identity_columns(table);
  const bool reads_cgroups =
      threads_are_listed && columns.cgroup.provenance.plugin == identity_metric(kCgroup).plugin;
  ThreadedCgroups threaded(roots);
  Readers readers(workers, [&] {
    return std::make_unique<IdentityReader>(roots, columns, snapshot.pools->texts, threaded, held,
                                            snapshot.read_at, clock_start);
  });
  std::atomic<std::uint64_t> last{0};
  const auto read_threads = [&](unsigned worker, std::size_t run) {
    const std::size_t first = run * kListedRun;
    const auto rows =
        static_cast<std::uint32_t>(std::min<std::size_t>(kListedRun, table.rows - first));
    keep_counts(worker);
    if (reads_cgroups) readers[worker].read_cgroups(first, rows);
    run_sources(worker, first, rows, {});
    raise(last, boottime_ns() - clock_start);
  };
  const bool reads_threads = threads_are_listed && (reads_cgroups || has_thread_stage());
  const std::size_t thread_runs = reads_threads ? pieces(table.rows, kListedRun) : 0;
  const auto tids = share_watched(
      workers, thread_runs + pieces(snapshot.table(Entity::Process).rows, kProcessRun),
      [&](unsigned worker, std::size_t run) {
        run < thread_runs ? read_threads(worker, run)
                          : run_process_sources(worker, run - thread_runs);
      },
      {.proc = roots.proc_that_may_hang(),
       .lost =
           [&](unsigned worker, std::uint64_t process) {
             replace(worker, process);
             readers.replace(worker);
           },
       .from_both_ends = true});
  if (roots.own_tids && threads_are_listed) snapshot.meta.own_threads = tids;
  if (read && reads_threads) read->last = last;
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
      collect_unless_held(source, held, worker, first_row, tgids, hidden);
}

void ThreadPass::run_process_sources(unsigned worker, std::size_t run) {
  const Table& table = snapshot.table(Entity::Process);
  const std::size_t first = run * kProcessRun;
  const auto tgids = table.find(kProcessTgid)
                         ->u64()
                         .subspan(first, std::min<std::size_t>(kProcessRun, table.rows - first));
  keep_counts(worker);
  for (SourceRun& source : sources)
    if (source.stage() == CTPROF_STAGE_PROCESS)
      collect_unless_held(source, held, worker, first, tgids, {});
}

void ThreadPass::keep_counts(unsigned worker) {
  for (SourceRun& source : sources)
    if (is_run_here(source)) source.keep_count(worker);
}

void ThreadPass::replace(unsigned worker, std::uint64_t process) {
  held.add(process);
  for (SourceRun& source : sources)
    if (is_run_here(source)) source.replace(worker);
}

// Sets the name of each process to that of its leader. If the leader has no row, reads its name
// again.
void ThreadPass::name_processes() {
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
