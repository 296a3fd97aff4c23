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
  count_tally(batch, Tally::ProbedOk);
}

}  // namespace

HeapReader::HeapReader(const sdk::Host& host, HeapHelper& helper)
    : host_(host), helper_(helper), self_(static_cast<std::uint64_t>(::getpid())) {}

void HeapReader::read(const sdk::Batch& batch) {
  rows_.clear();
  tracees_.clear();
  processes_.clear();
  for (const sdk::Thread thread : batch.threads())
    rows_.push_back({thread, describe_thread(thread, batch)});
  group_rows();
  request_unknown_programs();
  for (const Group& group : groups_) select_rows(batch, group);
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
        group.rows, [](const Row& row) { return has_exited(row.known.image); });
    const bool is_own_process = group.rows.front().thread.tgid == self_;
    if (!is_own_process && alive != group.rows.end() && !alive->known.image.is_kernel_thread)
      group.living_row = &*alive;
    groups_.push_back(group);
  }
}

// Requests unknown programs. A process may fill many consecutive batches, so the last answer is
// stored and used while the process runs the same program.
void HeapReader::request_unknown_programs() {
  for (const FindRequest& question : questions_)
    if (question.program != 0 && question.program != last_program_)
      stale_programs_.push_back(question.program);
  std::erase(stale_programs_, last_program_);
  helper_.release(stale_programs_);
  stale_programs_.assign(1, last_program_);
  questions_.clear();
  for (Group& group : groups_) {
    if (!group.living_row) continue;
    const bool is_last_process = last_tgid_ == group.living_row->thread.tgid &&
                                 is_same_program(last_image_, group.living_row->known.image);
    group.question_index = questions_.size();
    questions_.push_back({.tid = group.living_row->thread.tid,
                          .known_program = is_last_process ? last_program_ : 0,
                          .has_few_threads = group.rows.size() <= kFewThreads});
    // Whether it still runs the same program is checked after its counters were read.
    const bool is_settled = is_last_process && (last_found_.status != FindStatus::Found ||
                                                helper_.has_current_helper_for(last_program_));
    if (is_settled)
      questions_.back() = {.tid = group.living_row->thread.tid, .is_same_program = true};
  }
  if (!questions_.empty() && questions_.front().is_same_program)
    return helper_.find(std::span(questions_).subspan(1));
  helper_.find(questions_);
}

ThreadImage HeapReader::read_image(const sdk::Thread& thread) {
  const auto text = file_.read(host_, thread, "stat");
  ThreadImage image = text ? parse_thread_image(text.value) : ThreadImage{};
  if (!text) image.state = 'X';
  return image;
}

// Fills the rows of one process that need no tracing, and adds the others to the tracees. A process
// is counted once, in the batch with its leader's row, because its threads can be in several
// batches.
void HeapReader::select_rows(const sdk::Batch& batch, const Group& group) {
  const std::uint64_t tgid = group.rows.front().thread.tgid;
  const bool has_leader =
      std::ranges::any_of(group.rows, [&](const Row& row) { return row.thread.tid == tgid; });
  if (has_leader && tgid != self_) count_tally(batch, Tally::Walked);
  if (!group.living_row) return fill_gaps(batch, group.rows, Gap::NotApplicable);
  store_answer(group);
  if (last_found_.status != FindStatus::Found) {
    const Gap gap = gap_of_missing_counters(last_found_, *group.living_row);
    if (has_leader) count_failure(batch, last_found_.status, gap);
    return fill_gaps(batch, group.rows, gap);
  }
  if (has_leader) count_tally(batch, Tally::Detected);
  add_tracees(batch, group.rows);
}

// Stores the answer for the process as the last known one.
void HeapReader::store_answer(const Group& group) {
  const FindRequest& question = questions_[group.question_index];
  if (question.is_same_program) return;
  last_tgid_ = group.living_row->thread.tgid;
  last_image_ = group.living_row->known.image;
  last_program_ = question.program;
  last_found_ = question.found;
}

// If a process executes another program while its files are read, failures are not errors.
Gap HeapReader::gap_of_missing_counters(const FindResult& found, const Row& row) {
  const Gap gap = gap_of(found);
  if (gap == Gap::NotApplicable || gap == Gap::Denied || found.status == FindStatus::NotAnswering)
    return gap;
  const ThreadImage current_image = read_image(row.thread);
  if (has_exited(current_image)) return Gap::ThreadGone;
  return is_same_program(current_image, row.known.image) ? gap : Gap::Busy;
}

void HeapReader::fill_gaps(const sdk::Batch& batch, std::span<const Row> rows, Gap gap) {
  auto allocated = batch.column(vocabulary::allocated_bytes),
       deallocated = batch.column(vocabulary::deallocated_bytes);
  for (const Row& row : rows) {
    const Gap thread_gap = has_exited(row.known.image) ? Gap::ThreadGone : gap;
    allocated.put(row.thread, thread_gap);
    deallocated.put(row.thread, thread_gap);
  }
}

void HeapReader::add_tracees(const sdk::Batch& batch, std::span<const Row> rows) {
  Process process{.image = last_image_,
                  .program = last_program_,
                  .counters = last_found_.counters,
                  .first_tracee = tracees_.size()};
  for (const Row& row : rows) {
    if (has_exited(row.known.image) || is_stopped(row.known.image)) {
      put(batch, row.thread, has_exited(row.known.image) ? Gap::ThreadGone : Gap::Busy);
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
  std::vector<ReadRequest> questions;
  for (const Process& process : processes_)
    if (const std::size_t first = process.first_tracee, count = process.threads.size(); count > 0)
      questions.push_back({.program = process.program,
                           .counters = process.counters,
                           .tracees = std::span(tracees_).subspan(first, count),
                           .readings = std::span(readings_).subspan(first, count)});
  helper_.read(questions);
  std::size_t next = 0;
  for (Process& process : processes_)
    if (!process.threads.empty()) process.is_still_running = questions[next++].is_still_running;
}

void HeapReader::fill(const sdk::Batch& batch, const Process& process) {
  const auto tracees = std::span(tracees_).subspan(process.first_tracee, process.threads.size());
  const auto readings = std::span(readings_).subspan(process.first_tracee, process.threads.size());
  // If nothing was read of a process, its stat file is not read either, because even that may
  // block.
  const bool has_readings = std::ranges::any_of(
      tracees, [](const Tracee& tracee) { return tracee.outcome.failed_step == ProbeStep::Done; });
  const int error = has_readings ? check_replaced(process) : 0;
  for (std::size_t i = 0; i < tracees.size(); ++i) {
    Outcome outcome = tracees[i].outcome;
    if (outcome.failed_step == ProbeStep::Done && error != 0)
      outcome = {ProbeStep::ReadMemory, error};
    if (outcome.failed_step == ProbeStep::Done) {
      put(batch, process.threads[i], readings[i]);
      continue;
    }
    const Gap gap = outcome.failed_step == ProbeStep::Seize
                        ? gap_of_failed_seize(host_, process.threads[i], outcome.error)
                        : gap_of(outcome);
    put(batch, process.threads[i], gap);
    count_failure(batch, outcome.failed_step, gap);
  }
}

// Returns 0 if the process runs the program for which the counters were located; then it ran it all
// the time. After an execve(2) in between, the location and everything that was read there would
// belong to another program: EBUSY. Returns ESRCH if all of its threads have exited.
int HeapReader::check_replaced(const Process& process) {
  for (const sdk::Thread& thread : process.threads) {
    const ThreadImage current_image = read_image(thread);
    if (has_exited(current_image)) continue;
    return process.is_still_running && is_same_program(current_image, process.image) ? 0 : EBUSY;
  }
  return ESRCH;
}

}  // namespace ctprof::jemalloc
