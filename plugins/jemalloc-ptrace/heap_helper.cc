#include "plugins/jemalloc-ptrace/heap_helper.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "plugins/jemalloc-ptrace/heap_server.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr HelperLimits kLimits{
    .cpu_seconds = 20, .extra_memory = 1ULL << 30, .cpu_time_is_progress = false};

std::string describe_timeout() {
  return "did not answer within " + std::to_string(kHelperTimeoutSeconds) + " seconds";
}

std::string describe_slow_mount(const NameItem& mount, bool is_timeout) {
  return "the file system mounted at " + std::string(mount.mount_point) + ' ' +
         (is_timeout ? describe_timeout() : "is too slow") +
         ": no heap sizes of programs on it (Busy); check its server, or unmount it (umount -f)";
}

std::string describe_slow_process(std::uint64_t tid, bool is_timeout) {
  return "reading files or memory of process " + std::to_string(tid) + ' ' +
         (is_timeout ? describe_timeout() : "is too slow") +
         ": no heap sizes of it (Busy); see what its threads wait for (/proc/" +
         std::to_string(tid) + "/stack)";
}

// Replaces values out of range, because a hostile file may have taken over the helper.
FindResult validated_answer(const FindItem& item) {
  const std::uint32_t status = item.status;
  if (status > static_cast<std::uint32_t>(FindStatus::NotAnswering))
    return {FindStatus::Unreadable, {}, EIO};
  return {static_cast<FindStatus>(status), item.counters, item.error};
}

void store_thread_answer(const ReadThread& thread, Tracee& tracee, Reading& reading) {
  const std::uint32_t failed = thread.failed_step;
  const bool known = failed <= static_cast<std::uint32_t>(ProbeStep::ReadMemory);
  tracee.outcome = {known ? static_cast<ProbeStep>(failed) : ProbeStep::ReadMemory, thread.error};
  reading = {thread.allocated, thread.deallocated};
}

void write_request(const ReadRequest& question, SharedArea& board, std::uint32_t item,
                   std::uint32_t& threads) {
  const std::uint32_t first = threads;
  for (const Tracee& tracee : question.tracees)
    if (tracee.outcome.failed_step == ProbeStep::Done && threads < kMaxItems)
      board.threads[threads++] = {
          .tgid = tracee.tgid, .tid = tracee.tid, .pointer = tracee.pointer};
  board.reads[item] = {.program = question.program,
                       .first = first,
                       .count = threads - first,
                       .counters = question.counters};
}

void store_answers(const SharedArea& board, std::uint32_t item, std::uint32_t& threads,
                   ReadRequest& question) {
  for (std::size_t i = 0; i < question.tracees.size(); ++i)
    if (question.tracees[i].outcome.failed_step == ProbeStep::Done && threads < kMaxItems)
      store_thread_answer(board.threads[threads++], question.tracees[i], question.readings[i]);
  question.is_still_running = board.reads[item].is_still_running == 1;
}

}  // namespace

std::vector<std::string> HeapHelper::finish_capture() {
  const std::lock_guard lock(mutex_);
  helper_.reset();
  is_idle_ = false;
  avoided_devices_.clear();
  losses_ = 0;
  remaining_slices_ = kMaxSlices;
  has_given_up_ = false;
  return std::exchange(notes_, {});
}

void HeapHelper::add_note(std::string sentence) {
  if (std::ranges::find(notes_, sentence) == notes_.end()) notes_.push_back(std::move(sentence));
}

void HeapHelper::stop_requests(const std::string& sentence) {
  has_given_up_ = true;
  helper_.reset();
  add_note(sentence);
}

void HeapHelper::prepare() {
  const std::lock_guard lock(mutex_);
  if (helper_ || has_given_up_) return;
  create_helper();
  is_idle_ = true;
}

// A helper that was lost before its first request was not lost because of a target.
bool HeapHelper::was_lost_while_idle() {
  return std::exchange(is_idle_, false) && (helper_->error() != 0 || helper_->has_exited());
}

void HeapHelper::create_helper() {
  helper_ = std::make_unique<HelperProcess>(proc_, sizeof(SharedArea), kLimits, start_heap_server);
  last_foreign_program_ = last_program_;
}

SharedArea* HeapHelper::shared_area() {
  if (has_given_up_) return nullptr;
  if (!helper_ || was_lost_while_idle()) create_helper();
  if (helper_->error() == 0) return static_cast<SharedArea*>(helper_->area());
  stop_requests("no helper process could be created to read heaps (" + helper_->describe_error() +
                "): all heaps are unknown");
  return nullptr;
}

std::uint32_t HeapHelper::send_request(Request request, std::uint32_t count) {
  SharedArea& board = *static_cast<SharedArea*>(helper_->area());
  board.request = request;
  board.count = count;
  board.answered_count = 0;
  board.avoided_count = static_cast<std::uint32_t>(
      std::min<std::size_t>(avoided_devices_.size(), kMaxAvoidedDevices));
  std::copy_n(avoided_devices_.begin(), board.avoided_count, board.avoided_devices);
  board.released_count =
      static_cast<std::uint32_t>(std::min<std::size_t>(released_.size(), kMaxReleased));
  std::copy_n(released_.begin(), board.released_count, board.released);
  released_.erase(released_.begin(), released_.begin() + board.released_count);
  int name_slices = kHelperTimeoutSeconds * 1000 / kHelperSliceMs;
  last_reply_ = helper_->request(request == Request::Name ? name_slices : remaining_slices_);
  const std::uint32_t done = std::min(board.answered_count.load(), count);
  return last_reply_ == HelperProcess::Reply::Answered ? count : std::min(done, count - 1);
}

std::uint32_t HeapHelper::send_requests(std::span<FindRequest> questions) {
  SharedArea* board = this->shared_area();
  if (!board) return 0;
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(questions.size(), kMaxItems));
  for (std::uint32_t i = 0; i < count; ++i) {
    questions[i].program = ++last_program_;
    board->finds[i] = {.tid = questions[i].tid,
                       .program = questions[i].program,
                       .known_program = questions[i].known_program,
                       .has_few_threads = questions[i].has_few_threads ? 1u : 0u};
  }
  const std::uint32_t done = send_request(Request::Find, count);
  for (std::uint32_t i = 0; i < done; ++i) {
    const FindItem answer = board->finds[i];
    questions[i].is_same_program = answer.is_same_program == 1 && questions[i].known_program != 0;
    questions[i].found = validated_answer(answer);
  }
  return done;
}

std::uint32_t HeapHelper::send_requests(std::span<ReadRequest> questions) {
  SharedArea* board = this->shared_area();
  if (!board) return 0;
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(questions.size(), kMaxItems));
  std::uint32_t threads = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    write_request(questions[i], *board, i, threads);
    board->reads[i].must_open_program = questions[i].program <= last_foreign_program_ ? 1 : 0;
  }
  const std::uint32_t done = send_request(Request::Read, count);
  threads = 0;
  for (std::uint32_t i = 0; i < done; ++i) store_answers(*board, i, threads, questions[i]);
  return done;
}

NameItem HeapHelper::name_mount(std::uint64_t tid, std::uint64_t device, std::uint64_t address,
                                const ReadRequest* reading) {
  NameItem item{.tid = tid, .device = device, .address = address};
  SharedArea* board = this->shared_area();
  if (!board) return item;
  std::uint32_t threads = 0;
  if (reading) write_request(*reading, *board, 0, threads);
  board->name = item;
  if (send_request(Request::Name, 1) == 1) {
    item = board->name;
    item.mount_point[sizeof item.mount_point - 1] = 0;
    std::replace_if(
        item.mount_point, item.mount_point + std::strlen(item.mount_point),
        [](char c) { return c < ' ' || c > '~'; }, '?');
    return item;
  }
  helper_.reset();
  ++losses_;
  return item;
}

bool HeapHelper::abandon_helper(std::uint64_t tid, const ReadRequest* reading) {
  if (has_given_up_) return false;
  const SharedArea& board = *static_cast<SharedArea*>(helper_->area());
  const std::uint64_t device = board.device;
  const std::uint64_t address = board.address;
  const bool timed_out = last_reply_ == HelperProcess::Reply::TimedOut;
  helper_.reset();
  bool can_retry = false;
  if (timed_out) {
    const NameItem mount = name_mount(tid, device, address, reading);
    can_retry = mount.found_device != 0 &&
                std::ranges::find(avoided_devices_, mount.found_device) == avoided_devices_.end();
    if (can_retry) avoided_devices_.push_back(mount.found_device);
    add_note(mount.mount_point[0] != 0 ? describe_slow_mount(mount, remaining_slices_ > 0)
                                       : describe_slow_process(tid, remaining_slices_ > 0));
  } else {
    add_note("a file of process " + std::to_string(tid) +
             " crashed the helper process that read it: the heap of that process is unknown");
  }
  if (++losses_ < kMaxLosses && remaining_slices_ > 0) return can_retry;
  if (remaining_slices_ <= 0)
    stop_requests("reading heaps took " + std::to_string(kMaxSeconds) +
                  " seconds: the other heaps have no sizes (Busy)");
  else
    stop_requests(std::to_string(losses_) +
                  " reads did not answer: the other heaps have no sizes (Busy)");
  return false;
}

void HeapHelper::find(std::span<FindRequest> questions) {
  const std::lock_guard lock(mutex_);
  while (!questions.empty()) {
    questions = questions.subspan(send_requests(questions));
    if (questions.empty() || has_given_up_) return;
    if (helper_ && last_reply_ == HelperProcess::Reply::Answered) continue;
    const bool timed_out = last_reply_ == HelperProcess::Reply::TimedOut;
    if (abandon_helper(questions.front().tid, nullptr)) continue;
    if (!timed_out) questions.front().found = {FindStatus::TooCostly, {}, EFBIG};
    questions = questions.subspan(1);
  }
}

void HeapHelper::read(std::span<ReadRequest> questions) {
  const std::lock_guard lock(mutex_);
  while (!questions.empty()) {
    questions = questions.subspan(send_requests(questions));
    if (questions.empty()) return;
    const bool is_retried =
        !has_given_up_ && last_reply_ != HelperProcess::Reply::Answered &&
        abandon_helper(static_cast<std::uint64_t>(questions.front().tracees.front().tid),
                       &questions.front());
    if (is_retried) continue;
    for (Tracee& tracee : questions.front().tracees)
      if (tracee.outcome.failed_step == ProbeStep::Done)
        tracee.outcome = {ProbeStep::ReadMemory, ETIMEDOUT};
    questions = questions.subspan(1);
  }
}

bool HeapHelper::has_current_helper_for(ProgramNumber program) {
  const std::lock_guard lock(mutex_);
  return helper_ && program > last_foreign_program_;
}

void HeapHelper::release(std::span<const ProgramNumber> programs) {
  const std::lock_guard lock(mutex_);
  released_.insert(released_.end(), programs.begin(), programs.end());
}

}  // namespace ctprof::jemalloc
