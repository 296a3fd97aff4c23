#include "plugins/jemalloc-ptrace/heap_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "plugins/jemalloc-ptrace/outcome.hpp"
#include "plugins/jemalloc-ptrace/summary.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::jemalloc {
namespace {

// The search visits mappings one by one, and each thread has one or two of them.
constexpr std::size_t kFewThreads = 64;

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

HeapReader::HeapReader(const sdk::Host& host, HeapHelper& helper)
    : host_(host), helper_(helper), self_(static_cast<std::uint64_t>(::getpid())) {}

void HeapReader::read(const sdk::Batch& batch) {
  rows_.clear();
  tracees_.clear();
  processes_.clear();
  for (const sdk::Thread thread : batch.threads())
    rows_.push_back({thread, look_at(thread, batch)});
  group_rows();
  ask_what_is_not_known();
  for (const Group& group : groups_) choose(batch, group);
  batch.stopped(get_pointers(tracees_));
  read_counters();
  for (const Process& process : processes_) fill(batch, process);
}

// Groups rows by process. ctprof itself is not read, and exited threads and kernel threads have no
// program. A group uses a living thread, because an exited leader has neither an executable nor
// memory.
void HeapReader::group_rows() {
  groups_.clear();
  for (std::size_t first = 0, last = 0; first < rows_.size(); first = last) {
    while (last < rows_.size() && rows_[last].thread.tgid == rows_[first].thread.tgid) ++last;
    Group group{.rows = std::span<const Row>(rows_).subspan(first, last - first)};
    const auto alive = std::ranges::find_if_not(
        group.rows, [](const Row& row) { return has_ended(row.known.image); });
    const bool ours = group.rows.front().thread.tgid == self_;
    if (!ours && alive != group.rows.end() && !alive->known.image.kernel_thread)
      group.alive = &*alive;
    groups_.push_back(group);
  }
}

// Requests unknown programs. A process may fill many consecutive batches, so the last answer is
// stored and used while the process runs the same program.
void HeapReader::ask_what_is_not_known() {
  for (const FindQuestion& question : questions_)
    if (question.program != 0 && question.program != last_program_)
      stale_.push_back(question.program);
  std::erase(stale_, last_program_);
  helper_.release(stale_);
  stale_.assign(1, last_program_);
  questions_.clear();
  for (Group& group : groups_) {
    if (!group.alive) continue;
    const bool seen = last_tgid_ == group.alive->thread.tgid &&
                      same_program(last_image_, group.alive->known.image);
    group.question = questions_.size();
    questions_.push_back({.tid = group.alive->thread.tid,
                          .known = seen ? last_program_ : 0,
                          .has_few_threads = group.rows.size() <= kFewThreads});
    // Whether it still runs the same program is checked after its counters were read.
    const bool settled =
        seen && (last_found_.attach != Attach::Found || helper_.holds(last_program_));
    if (settled) questions_.back() = {.tid = group.alive->thread.tid, .same = true};
  }
  if (!questions_.empty() && questions_.front().same)
    return helper_.find(std::span(questions_).subspan(1));
  helper_.find(questions_);
}

ThreadImage HeapReader::image_now(const sdk::Thread& thread) {
  const auto text = file_.read(host_, thread, "stat");
  ThreadImage image = text ? parse_thread_image(text.value) : ThreadImage{};
  if (!text) image.state = 'X';
  return image;
}

// Fills the rows of one process that need no tracing, and adds the others to the tracees. Values of
// the process are counted in the batch with its leader's row, because other rows may be in other
// batches.
void HeapReader::choose(const sdk::Batch& batch, const Group& group) {
  const std::uint64_t tgid = group.rows.front().thread.tgid;
  const bool with_leader =
      std::ranges::any_of(group.rows, [&](const Row& row) { return row.thread.tid == tgid; });
  if (with_leader && tgid != self_) count(batch, Tally::Walked);
  if (!group.alive) return leave(batch, group.rows, Gap::NotApplicable);
  settle(group);
  if (last_found_.attach != Attach::Found) {
    const Gap gap = why_not(last_found_, *group.alive);
    if (with_leader) count_failure(batch, last_found_.attach, gap);
    return leave(batch, group.rows, gap);
  }
  if (with_leader) count(batch, Tally::Detected);
  enlist(batch, group.rows);
}

// Stores the answer for the process as the last known one.
void HeapReader::settle(const Group& group) {
  const FindQuestion& question = questions_[group.question];
  if (question.same) return;
  last_tgid_ = group.alive->thread.tgid;
  last_image_ = group.alive->known.image;
  last_program_ = question.program;
  last_found_ = question.found;
}

// If a process executes another program while its files are read, failures are not errors.
Gap HeapReader::why_not(const Found& found, const Row& row) {
  const Gap gap = gap_of(found);
  if (gap == Gap::NotApplicable || gap == Gap::Denied || found.attach == Attach::NotAnswering)
    return gap;
  const ThreadImage now = image_now(row.thread);
  if (has_ended(now)) return Gap::ThreadGone;
  return same_program(now, row.known.image) ? gap : Gap::Busy;
}

void HeapReader::leave(const sdk::Batch& batch, std::span<const Row> rows, Gap gap) {
  auto allocated = batch.column(vocabulary::allocated_bytes),
       deallocated = batch.column(vocabulary::deallocated_bytes);
  for (const Row& row : rows) {
    const Gap why = has_ended(row.known.image) ? Gap::ThreadGone : gap;
    allocated.put(row.thread, why);
    deallocated.put(row.thread, why);
  }
}

void HeapReader::enlist(const sdk::Batch& batch, std::span<const Row> rows) {
  Process process{.image = last_image_,
                  .program = last_program_,
                  .counters = last_found_.counters,
                  .first_tracee = tracees_.size()};
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

void HeapReader::read_counters() {
  readings_.assign(tracees_.size(), {});
  std::vector<ReadQuestion> questions;
  for (const Process& process : processes_)
    if (const std::size_t first = process.first_tracee, count = process.threads.size(); count > 0)
      questions.push_back({.program = process.program,
                           .counters = process.counters,
                           .tracees = std::span(tracees_).subspan(first, count),
                           .readings = std::span(readings_).subspan(first, count)});
  helper_.read(questions);
  std::size_t next = 0;
  for (Process& process : processes_)
    if (!process.threads.empty()) process.still_runs = questions[next++].still_runs;
}

void HeapReader::fill(const sdk::Batch& batch, const Process& process) {
  const auto tracees = std::span(tracees_).subspan(process.first_tracee, process.threads.size());
  const auto readings = std::span(readings_).subspan(process.first_tracee, process.threads.size());
  // If nothing was read of a process, its stat file is not read either, because even that may
  // block.
  const bool any = std::ranges::any_of(
      tracees, [](const Tracee& tracee) { return tracee.outcome.failed == ProbeStep::Done; });
  const int replaced = any ? replaced_by_now(process) : 0;
  for (std::size_t i = 0; i < tracees.size(); ++i) {
    Outcome outcome = tracees[i].outcome;
    if (outcome.failed == ProbeStep::Done && replaced != 0)
      outcome = {ProbeStep::ReadMemory, replaced};
    if (outcome.failed == ProbeStep::Done) {
      put(batch, process.threads[i], readings[i]);
      continue;
    }
    const Gap gap = outcome.failed == ProbeStep::Seize
                        ? why_refused(host_, process.threads[i], outcome.error)
                        : gap_of(outcome);
    put(batch, process.threads[i], gap);
    count_failure(batch, outcome.failed, gap);
  }
}

// Returns 0 if the process runs the program for which the counters were located; then it ran it all
// the time. After an execve(2) in between, the location and everything that was read there would
// belong to another program: EBUSY. Returns ESRCH if all of its threads have exited.
int HeapReader::replaced_by_now(const Process& process) {
  for (const sdk::Thread& thread : process.threads) {
    const ThreadImage now = image_now(thread);
    if (has_ended(now)) continue;
    return process.still_runs && same_program(now, process.image) ? 0 : EBUSY;
  }
  return ESRCH;
}

}  // namespace ctprof::jemalloc
