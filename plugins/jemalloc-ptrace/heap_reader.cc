#include "plugins/jemalloc-ptrace/heap_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "plugins/jemalloc-ptrace/refusal.hpp"
#include "plugins/jemalloc-ptrace/summary.hpp"
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

void put(const sdk::Batch& batch, const sdk::Thread& thread, Gap gap) {
  batch.column(vocabulary::allocated_bytes).put(thread, gap);
  batch.column(vocabulary::deallocated_bytes).put(thread, gap);
}

void put(const sdk::Batch& batch, const sdk::Thread& thread, const Reading& reading) {
  batch.column(vocabulary::allocated_bytes).put(thread, reading.allocated);
  batch.column(vocabulary::deallocated_bytes).put(thread, reading.deallocated);
  count(batch, Tally::ProbedOk);
}

}  // namespace

HeapReader::HeapReader(const sdk::Host& host)
    : host_(host), finder_(shared_finder(host)), self_(static_cast<std::uint64_t>(::getpid())) {}

void HeapReader::read(const sdk::Batch& batch) {
  rows_.clear();
  tracees_.clear();
  processes_.clear();
  for (const sdk::Thread thread : batch.threads()) rows_.push_back({thread, look_at(thread, batch)});
  for (std::size_t first = 0, last = 0; first < rows_.size(); first = last) {
    while (last < rows_.size() && rows_[last].thread.tgid == rows_[first].thread.tgid) ++last;
    choose(batch, std::span(rows_).subspan(first, last - first));
  }
  batch.stopped(get_pointers(tracees_));
  for (const Process& process : processes_) fill(batch, process);
}

ThreadImage HeapReader::image_now(const sdk::Thread& thread) {
  const auto text = file_.read(host_, thread, "stat");
  ThreadImage image = text ? parse_thread_image(text.value) : ThreadImage{};
  if (!text) image.state = 'X';
  return image;
}

// Settles the rows of one process that need no tracing, and enlists the others. What is the process's alone is counted where its
// leader's row is, for its other rows may be in other batches.
void HeapReader::choose(const sdk::Batch& batch, std::span<const Row> rows) {
  const std::uint64_t tgid = rows.front().thread.tgid;
  const bool ours = tgid == self_;
  const bool with_leader = std::ranges::any_of(rows, [&](const Row& row) { return row.thread.tid == tgid; });
  if (with_leader && !ours) count(batch, Tally::Walked);
  const auto alive = std::ranges::find_if_not(rows, [](const Row& row) { return has_ended(row.known.image); });
  if (ours || alive == rows.end() || alive->known.image.kernel_thread) return leave(batch, rows, Gap::NotApplicable);
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
Gap HeapReader::why_not(const Found& found, const Row& row) {
  const Gap gap = gap_of(found);
  if (gap == Gap::NotApplicable || gap == Gap::Denied) return gap;
  const ThreadImage now = image_now(row.thread);
  if (has_ended(now)) return Gap::ThreadGone;
  return same_program(now, row.known.image) ? gap : Gap::Busy;
}

void HeapReader::leave(const sdk::Batch& batch, std::span<const Row> rows, Gap gap) {
  auto allocated = batch.column(vocabulary::allocated_bytes), deallocated = batch.column(vocabulary::deallocated_bytes);
  for (const Row& row : rows) {
    const Gap why = has_ended(row.known.image) ? Gap::ThreadGone : gap;
    allocated.put(row.thread, why);
    deallocated.put(row.thread, why);
  }
}

// A process may fill many batches in a row: the last answer is kept. Asks for a living thread, since a leader that ended has neither
// an executable nor memory.
const Found& HeapReader::find(const Row& row) {
  const bool known = last_tgid_ == row.thread.tgid && same_program(last_image_, row.known.image);
  if (known && (last_found_.attach != Attach::Found || last_program_->still_runs())) return last_found_;
  last_tgid_ = row.thread.tgid;
  last_image_ = row.known.image;
  last_program_ = std::make_shared<const Program>(host_.proc(), row.thread.tid);
  last_found_ = finder_->find(row.thread.tid);
  // A program that is being started moves its mappings about: a second look sees them settled.
  if (last_found_.attach == Attach::Unreadable) last_found_ = finder_->find(row.thread.tid);
  return last_found_;
}

void HeapReader::enlist(const sdk::Batch& batch, std::span<const Row> rows) {
  Process process{
      .image = last_image_, .program = last_program_, .counters = last_found_.counters, .first_tracee = tracees_.size()};
  for (const Row& row : rows) {
    if (has_ended(row.known.image) || is_stopped(row.known.image)) {
      put(batch, row.thread, has_ended(row.known.image) ? Gap::ThreadGone : Gap::Busy);
      continue;
    }
    process.threads.push_back(row.thread);
    tracees_.push_back({.tgid = static_cast<pid_t>(row.thread.tgid),
                        .tid = static_cast<pid_t>(row.thread.tid),
                        .pointer = row.known.pointer,
                        .outcome = {}});
  }
  processes_.push_back(std::move(process));
}

void HeapReader::fill(const sdk::Batch& batch, const Process& process) {
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
// the place and all that was read there would be another program's: EBUSY. ESRCH when none of its threads is left to be
// asked.
int HeapReader::replaced_by_now(const Process& process) {
  for (const sdk::Thread& thread : process.threads) {
    const ThreadImage now = image_now(thread);
    if (has_ended(now)) continue;
    return process.program->still_runs() && same_program(now, process.image) ? 0 : EBUSY;
  }
  return ESRCH;
}

}  // namespace ctprof::jemalloc
