// jemalloc-ptrace: how much each thread obtained from jemalloc, and gave back.
//
// Source: two 64-bit counters that jemalloc keeps in each thread's own storage. Where they are, seen from a thread's pointer, the finder
// tells for a process; thread pointers come by ptrace(2), the counters by process_vm_readv(2). Needs the right to trace the target.
//
// A thread that somebody else has stopped or traces is left alone. So are we ourselves.
//
// What is here:   the source, which takes the rows of a batch process by process, and the plugin's table.
// What is not:    stopping threads (thread_pointers.cc), reading memory (counters_read.cc), the counters' place (finder/), tallies' meaning
//                 (summary.cc), what the host lacks (probe.cc).

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/jemalloc-ptrace/counters_read.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/probe.hpp"
#include "plugins/jemalloc-ptrace/program.hpp"
#include "plugins/jemalloc-ptrace/refusal.hpp"
#include "plugins/jemalloc-ptrace/summary.hpp"
#include "plugins/jemalloc-ptrace/thread_image.hpp"
#include "plugins/jemalloc-ptrace/thread_pointers.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::jemalloc {
namespace {

// One for all workers of a capture, so that each file is looked at once.
std::shared_ptr<Finder> shared_finder(const sdk::Host& host) {
  static std::mutex mutex;
  static std::weak_ptr<Finder> current;
  static int current_proc = -1;
  const std::lock_guard lock(mutex);
  auto finder = current.lock();
  if (finder && current_proc == host.proc()) return finder;
  finder = std::make_shared<Finder>(host);
  current = finder;
  current_proc = host.proc();
  return finder;
}

class Threads : public sdk::ThreadSource {
 public:
  static constexpr auto kOffers = sdk::offers(vocabulary::allocated_bytes, vocabulary::deallocated_bytes);
  static constexpr std::array kReads{"stat?"};
  static constexpr std::uint32_t kTallies = jemalloc::kTallies;
  static constexpr const char* kSummaryKey = "probe_summary";

  explicit Threads(const sdk::Host& host)
      : host_(host), pointers_(host.proc()), finder_(shared_finder(host)), self_(static_cast<std::uint64_t>(::getpid())) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }
  static void summarise(const sdk::Summary& summary) { put_probe_summary(summary); }

  void collect(const sdk::Batch& batch) {
    rows_.clear();
    tracees_.clear();
    processes_.clear();
    for (const sdk::Thread thread : batch.threads()) rows_.push_back({thread, image_of(thread, batch)});
    for (std::size_t first = 0, last = 0; first < rows_.size(); first = last) {
      while (last < rows_.size() && rows_[last].thread.tgid == rows_[first].thread.tgid) ++last;
      choose(batch, std::span(rows_).subspan(first, last - first));
    }
    batch.stopped(pointers_.read(tracees_));
    for (const Process& process : processes_) fill(batch, process);
  }

 private:
  static constexpr std::uint32_t kStatInput = kStageReads.size();

  struct Row {
    sdk::Thread thread;
    ThreadImage image;
  };

  // Those of its threads that are to be read, as far as they are in the batch: rows and tracees side by side.
  struct Process {
    ThreadImage image;
    std::shared_ptr<const Program> program;
    Counters counters{};
    std::size_t first_tracee = 0;
    std::vector<sdk::Thread> threads{};
  };

  // As the lister saw it; where it was another source that listed, as it is.
  ThreadImage image_of(const sdk::Thread& thread, const sdk::Batch& batch) {
    const auto listed = batch.input<ctprof_text>(kStatInput).at(thread.row);
    return listed ? parse_thread_image({listed.value.data, listed.value.size}) : image_now(thread);
  }

  ThreadImage image_now(const sdk::Thread& thread) {
    const auto text = file_.read(host_, thread, "stat");
    ThreadImage image = text ? parse_thread_image(text.value) : ThreadImage{};
    if (!text) image.state = 'X';
    return image;
  }

  static void put(const sdk::Batch& batch, const sdk::Thread& thread, Gap gap) {
    batch.column(vocabulary::allocated_bytes).put(thread, gap);
    batch.column(vocabulary::deallocated_bytes).put(thread, gap);
  }

  static void put(const sdk::Batch& batch, const sdk::Thread& thread, const Reading& reading) {
    batch.column(vocabulary::allocated_bytes).put(thread, reading.allocated);
    batch.column(vocabulary::deallocated_bytes).put(thread, reading.deallocated);
    count(batch, Tally::ProbedOk);
  }

  // Settles the rows of one process that need no tracing, and enlists the others. What is the process's alone is counted where its
  // leader's row is, for its other rows may be in other batches.
  void choose(const sdk::Batch& batch, std::span<const Row> rows) {
    const std::uint64_t tgid = rows.front().thread.tgid;
    const bool ours = tgid == self_;
    const bool with_leader = std::ranges::any_of(rows, [&](const Row& row) { return row.thread.tid == tgid; });
    if (with_leader && !ours) count(batch, Tally::Walked);
    const auto alive = std::ranges::find_if_not(rows, [](const Row& row) { return has_ended(row.image); });
    if (ours || alive == rows.end() || alive->image.kernel_thread) return leave(batch, rows, Gap::NotApplicable);
    const Found& found = find(*alive);
    if (found.attach != Attach::Found) {
      const Gap gap = why_not(found, *alive);
      if (with_leader) count_failure(batch, found.attach, gap);
      return leave(batch, rows, gap);
    }
    if (with_leader) count(batch, Tally::Detected);
    enlist(batch, rows);
  }

  // A program that is replaced while its files are looked at fails in ways that are nobody's fault.
  Gap why_not(const Found& found, const Row& row) {
    const Gap gap = gap_of(found);
    if (gap == Gap::NotApplicable || gap == Gap::Denied) return gap;
    const ThreadImage now = image_now(row.thread);
    if (has_ended(now)) return Gap::ThreadGone;
    return same_program(now, row.image) ? gap : Gap::Busy;
  }

  static void leave(const sdk::Batch& batch, std::span<const Row> rows, Gap gap) {
    for (const Row& row : rows) put(batch, row.thread, has_ended(row.image) ? Gap::ThreadGone : gap);
  }

  // A process may fill many batches in a row: the last answer is kept. Asks for a living thread, since a leader that ended has neither
  // an executable nor memory.
  const Found& find(const Row& row) {
    const bool known = last_tgid_ == row.thread.tgid && same_program(last_image_, row.image);
    if (known && (last_found_.attach != Attach::Found || last_program_->still_runs())) return last_found_;
    last_tgid_ = row.thread.tgid;
    last_image_ = row.image;
    last_program_ = std::make_shared<const Program>(host_.proc(), row.thread.tid);
    last_found_ = finder_->find(row.thread.tid);
    // A program that is being started moves its mappings about: a second look sees them settled.
    if (last_found_.attach == Attach::Unreadable) last_found_ = finder_->find(row.thread.tid);
    return last_found_;
  }

  void enlist(const sdk::Batch& batch, std::span<const Row> rows) {
    Process process{
        .image = last_image_, .program = last_program_, .counters = last_found_.counters, .first_tracee = tracees_.size()};
    for (const Row& row : rows) {
      if (has_ended(row.image) || is_stopped(row.image)) {
        put(batch, row.thread, has_ended(row.image) ? Gap::ThreadGone : Gap::Busy);
        continue;
      }
      process.threads.push_back(row.thread);
      tracees_.push_back({.tgid = static_cast<pid_t>(row.thread.tgid), .tid = static_cast<pid_t>(row.thread.tid), .outcome = {}});
    }
    processes_.push_back(std::move(process));
  }

  void fill(const sdk::Batch& batch, const Process& process) {
    const auto tracees = std::span(tracees_).subspan(process.first_tracee, process.threads.size());
    const auto readings = memory_.read(tracees, process.counters);
    const int replaced = replaced_by_now(process);
    for (std::size_t i = 0; i < tracees.size(); ++i) {
      Outcome outcome = tracees[i].outcome;
      if (outcome.failed == Step::Done && replaced != 0) outcome = {Step::ReadMemory, replaced};
      if (outcome.failed == Step::Done) {
        put(batch, process.threads[i], readings[i]);
        continue;
      }
      const Gap gap = outcome.failed == Step::Seize ? why_refused(host_, process.threads[i], outcome.error) : gap_of(outcome);
      put(batch, process.threads[i], gap);
      count_failure(batch, outcome.failed, gap);
    }
  }

  // 0 when the process runs what it ran when the counters' place was looked up: then it did all the time. After an execve(2) in between,
  // the place and all that was read there would be another program's: EBUSY. ESRCH when none of its threads is left to be asked.
  int replaced_by_now(const Process& process) {
    for (const sdk::Thread& thread : process.threads) {
      const ThreadImage now = image_now(thread);
      if (has_ended(now)) continue;
      return process.program->still_runs() && same_program(now, process.image) ? 0 : EBUSY;
    }
    return ESRCH;
  }

  sdk::Host host_;
  ThreadPointers pointers_;
  std::shared_ptr<Finder> finder_;
  std::uint64_t self_;
  sdk::TextFile file_;
  CountersRead memory_;
  std::vector<Row> rows_;
  std::vector<Tracee> tracees_;
  std::vector<Process> processes_;
  std::uint64_t last_tgid_ = 0;
  ThreadImage last_image_;
  std::shared_ptr<const Program> last_program_;
  Found last_found_{};
};

constexpr sdk::Extra kDerived{.derived = sdk::array_of(vocabulary::kJemallocPtraceDerived)};

}  // namespace
}  // namespace ctprof::jemalloc

CTPROF_PLUGIN_WITH("jemalloc-ptrace", "1.0", "Bytes that each thread got from jemalloc and gave back, by ptrace.",
                   ctprof::jemalloc::kDerived, ctprof::jemalloc::Threads)
