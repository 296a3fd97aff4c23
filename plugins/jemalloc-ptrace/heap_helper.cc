#include "plugins/jemalloc-ptrace/heap_helper.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "plugins/jemalloc-ptrace/heap_duty.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr HelperLimits kLimits{
    .cpu_seconds = 20, .more_memory = 1ULL << 30, .busy_is_alive = false};

std::string in_time() {
  return "did not answer within " + std::to_string(kHelperPatience) + " seconds";
}

std::string about_mount(const NameItem& named, bool in_pace) {
  return "the file system mounted at " + std::string(named.place) + ' ' +
         (in_pace ? in_time() : "is too slow") +
         ": heaps of programs on it are Busy; check its server, or unmount it (umount -f)";
}

std::string about_process(std::uint64_t tid, bool in_pace) {
  return "reading files or memory of process " + std::to_string(tid) + ' ' +
         (in_pace ? in_time() : "is too slow") +
         ": its heap is Busy; see what its threads wait for (/proc/" + std::to_string(tid) +
         "/stack)";
}

// Replaces values out of range, because a hostile file may have taken over the helper.
Found answer_of(const FindItem& item) {
  const std::uint32_t attach = item.attach;
  if (attach > static_cast<std::uint32_t>(Attach::NotAnswering))
    return {Attach::Unreadable, {}, EIO};
  return {static_cast<Attach>(attach), item.counters, item.error};
}

void take(const ReadThread& thread, Tracee& tracee, Reading& reading) {
  const std::uint32_t failed = thread.failed;
  const bool known = failed <= static_cast<std::uint32_t>(ProbeStep::ReadMemory);
  tracee.outcome = {known ? static_cast<ProbeStep>(failed) : ProbeStep::ReadMemory, thread.error};
  reading = {thread.allocated, thread.deallocated};
}

void put(const ReadQuestion& question, Board& board, std::uint32_t item, std::uint32_t& threads) {
  const std::uint32_t first = threads;
  for (const Tracee& tracee : question.tracees)
    if (tracee.outcome.failed == ProbeStep::Done && threads < kMostItems)
      board.threads[threads++] = {
          .tgid = tracee.tgid, .tid = tracee.tid, .pointer = tracee.pointer};
  board.reads[item] = {.program = question.program,
                       .first = first,
                       .count = threads - first,
                       .counters = question.counters};
}

void take(const Board& board, std::uint32_t item, std::uint32_t& threads, ReadQuestion& question) {
  for (std::size_t i = 0; i < question.tracees.size(); ++i)
    if (question.tracees[i].outcome.failed == ProbeStep::Done && threads < kMostItems)
      take(board.threads[threads++], question.tracees[i], question.readings[i]);
  question.still_runs = board.reads[item].still_runs == 1;
}

}  // namespace

std::vector<std::string> HeapHelper::finish() {
  const std::lock_guard lock(mutex_);
  helper_.reset();
  is_idle_ = false;
  avoided_.clear();
  losses_ = 0;
  slices_ = kMostSlices;
  given_up_ = false;
  return std::exchange(troubles_, {});
}

void HeapHelper::tell(std::string sentence) {
  if (std::ranges::find(troubles_, sentence) == troubles_.end())
    troubles_.push_back(std::move(sentence));
}

void HeapHelper::give_up(const std::string& sentence) {
  given_up_ = true;
  helper_.reset();
  tell(sentence);
}

void HeapHelper::prepare() {
  const std::lock_guard lock(mutex_);
  if (helper_ || given_up_) return;
  make_helper();
  is_idle_ = true;
}

// A helper that was lost before its first request was not lost because of a target.
bool HeapHelper::lost_while_idle() {
  return std::exchange(is_idle_, false) && (helper_->error() != 0 || helper_->has_ended());
}

void HeapHelper::make_helper() {
  helper_ = std::make_unique<HelperProcess>(proc_, sizeof(Board), kLimits, begin_heap_duty);
  not_its_own_ = last_program_;
}

Board* HeapHelper::board() {
  if (given_up_) return nullptr;
  if (!helper_ || lost_while_idle()) make_helper();
  if (helper_->error() == 0) return static_cast<Board*>(helper_->area());
  give_up("no helper process could be created to read heaps (" + helper_->why_none() +
          "): all heaps are unknown");
  return nullptr;
}

std::uint32_t HeapHelper::ask(Request request, std::uint32_t count) {
  Board& board = *static_cast<Board*>(helper_->area());
  board.request = request;
  board.count = count;
  board.done = 0;
  board.avoided_count =
      static_cast<std::uint32_t>(std::min<std::size_t>(avoided_.size(), kMostAvoided));
  std::copy_n(avoided_.begin(), board.avoided_count, board.avoided);
  board.released_count =
      static_cast<std::uint32_t>(std::min<std::size_t>(released_.size(), kMostReleased));
  std::copy_n(released_.begin(), board.released_count, board.released);
  released_.erase(released_.begin(), released_.begin() + board.released_count);
  int for_name = kHelperPatience * 1000 / kHelperSliceMs;
  last_reply_ = helper_->ask(request == Request::Name ? for_name : slices_);
  const std::uint32_t done = std::min(board.done.load(), count);
  return last_reply_ == HelperProcess::Reply::Answered ? count : std::min(done, count - 1);
}

std::uint32_t HeapHelper::ask_for(std::span<FindQuestion> questions) {
  Board* board = this->board();
  if (!board) return 0;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::size_t>(questions.size(), kMostItems));
  for (std::uint32_t i = 0; i < count; ++i) {
    questions[i].program = ++last_program_;
    board->finds[i] = {.tid = questions[i].tid,
                       .program = questions[i].program,
                       .known = questions[i].known,
                       .has_few_threads = questions[i].has_few_threads ? 1u : 0u};
  }
  const std::uint32_t done = ask(Request::Find, count);
  for (std::uint32_t i = 0; i < done; ++i) {
    const FindItem answer = board->finds[i];
    questions[i].same = answer.same == 1 && questions[i].known != 0;
    questions[i].found = answer_of(answer);
  }
  return done;
}

std::uint32_t HeapHelper::ask_for(std::span<ReadQuestion> questions) {
  Board* board = this->board();
  if (!board) return 0;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::size_t>(questions.size(), kMostItems));
  std::uint32_t threads = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    put(questions[i], *board, i, threads);
    board->reads[i].adopt = questions[i].program <= not_its_own_ ? 1 : 0;
  }
  const std::uint32_t done = ask(Request::Read, count);
  threads = 0;
  for (std::uint32_t i = 0; i < done; ++i) take(*board, i, threads, questions[i]);
  return done;
}

NameItem HeapHelper::name(std::uint64_t tid, std::uint64_t device, std::uint64_t address,
                          const ReadQuestion* reading) {
  NameItem item{.tid = tid, .device = device, .address = address};
  Board* board = this->board();
  if (!board) return item;
  std::uint32_t threads = 0;
  if (reading) put(*reading, *board, 0, threads);
  board->name = item;
  if (ask(Request::Name, 1) == 1) {
    item = board->name;
    item.place[sizeof item.place - 1] = 0;
    std::replace_if(
        item.place, item.place + std::strlen(item.place), [](char c) { return c < ' ' || c > '~'; },
        '?');
    return item;
  }
  helper_.reset();
  ++losses_;
  return item;
}

bool HeapHelper::lose(std::uint64_t tid, const ReadQuestion* reading) {
  if (given_up_) return false;
  const Board& board = *static_cast<Board*>(helper_->area());
  const std::uint64_t device = board.device;
  const std::uint64_t address = board.address;
  const bool late = last_reply_ == HelperProcess::Reply::Late;
  helper_.reset();
  bool again = false;
  if (late) {
    const NameItem named = name(tid, device, address, reading);
    again = named.named != 0 && std::ranges::find(avoided_, named.named) == avoided_.end();
    if (again) avoided_.push_back(named.named);
    tell(named.place[0] != 0 ? about_mount(named, slices_ > 0) : about_process(tid, slices_ > 0));
  } else {
    tell("a file of process " + std::to_string(tid) +
         " crashed the helper process that read it: its heap is unknown");
  }
  if (++losses_ < kMostLosses && slices_ > 0) return again;
  if (slices_ <= 0)
    give_up("reading heaps took " + std::to_string(kMostSeconds) +
            " seconds: the remaining heaps are Busy");
  else
    give_up(std::to_string(losses_) + " reads did not answer: the remaining heaps are Busy");
  return false;
}

void HeapHelper::find(std::span<FindQuestion> questions) {
  const std::lock_guard lock(mutex_);
  while (!questions.empty()) {
    questions = questions.subspan(ask_for(questions));
    if (questions.empty() || given_up_) return;
    if (helper_ && last_reply_ == HelperProcess::Reply::Answered) continue;
    const bool late = last_reply_ == HelperProcess::Reply::Late;
    if (lose(questions.front().tid, nullptr)) continue;
    if (!late) questions.front().found = {Attach::TooCostly, {}, EFBIG};
    questions = questions.subspan(1);
  }
}

void HeapHelper::read(std::span<ReadQuestion> questions) {
  const std::lock_guard lock(mutex_);
  while (!questions.empty()) {
    questions = questions.subspan(ask_for(questions));
    if (questions.empty()) return;
    const bool tried_again =
        !given_up_ && last_reply_ != HelperProcess::Reply::Answered &&
        lose(static_cast<std::uint64_t>(questions.front().tracees.front().tid), &questions.front());
    if (tried_again) continue;
    for (Tracee& tracee : questions.front().tracees)
      if (tracee.outcome.failed == ProbeStep::Done)
        tracee.outcome = {ProbeStep::ReadMemory, ETIMEDOUT};
    questions = questions.subspan(1);
  }
}

bool HeapHelper::holds(ProgramNumber program) {
  const std::lock_guard lock(mutex_);
  return helper_ && program > not_its_own_;
}

void HeapHelper::release(std::span<const ProgramNumber> programs) {
  const std::lock_guard lock(mutex_);
  released_.insert(released_.end(), programs.begin(), programs.end());
}

}  // namespace ctprof::jemalloc
