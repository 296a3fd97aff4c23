#include "plugins/sleepers/bpf_looker.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "plugins/sleepers/recheck.h"

namespace ctprof::sleepers {
namespace {

// The kernel has a buffer of 32 KiB, and runs the program again for a thread whose record does not
// fit. This smaller size ensures that each record fits, and that copies are made soon after the
// sample.
constexpr std::size_t kAsked = 8 * 1024;
// Attempts for one thread. A thread that runs each time gets a user part in another pass.
constexpr int kTries = 6;
// Far more than the threads of any host.
constexpr std::size_t kMostRecords = 4 << 20;
// Limit of a stack. A thread pointer farther above belongs to something else.
constexpr std::uint64_t kMostStack = 64 << 20;

// Returns the extent of the stack, from its possible bases; 0: unknown.
std::uint64_t depth_of(const ::look& record) {
  std::uint64_t depth = 0;
  for (const std::uint64_t begin : {record.thread_pointer, record.start_stack})
    if (begin > record.sp && begin - record.sp <= kMostStack &&
        (depth == 0 || begin - record.sp < depth))
      depth = begin - record.sp;
  return depth;
}

}  // namespace

BpfLooker::BpfLooker(std::unique_ptr<LookInput> input, std::uint64_t ns_per_tick)
    : input_(std::move(input)), ns_per_tick_(ns_per_tick), buffer_(kAsked + sizeof(::look)) {}

// Calls moved(sleeper, look) for each of these threads that has run since it was sampled, because
// the copy of its stack is from another time. `look` is null if the thread does not sleep now.
// Calls nothing if the kernel does not support the check.
template <class Moved>
void BpfLooker::find_moved(const Pass& pass, std::span<const std::uint32_t> sleepers, Moved moved) {
  rechecked* threads = input_->recheck_room();
  if (!threads) return;
  while (!sleepers.empty()) {
    const auto some = sleepers.first(std::min<std::size_t>(sleepers.size(), RECHECK_MOST));
    sleepers = sleepers.subspan(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      threads[i].tid = pass.fresh[some[i]].tid;
      threads[i].switches = pass.fresh[some[i]].switches;
      threads[i].start_boottime = pass.fresh[some[i]].start_ns;
    }
    if (!input_->recheck(some.size())) return;
    for (std::size_t i = 0; i < some.size(); ++i)
      if (threads[i].found != RECHECK_SAME)
        moved(some[i], threads[i].found == RECHECK_AGAIN ? &threads[i].look : nullptr);
  }
}

void BpfLooker::look(std::uint32_t round, Pass& pass) {
  input_->begin(round);
  kept_ = 0;
  read_all(pass);
}

// The last copies may be incomplete, so these users are copied again.
void BpfLooker::go_on(Pass& pass) {
  copy_users(pass);
  read_all(pass);
}

void BpfLooker::read_all(Pass& pass) {
  while (const std::size_t got = input_->read(std::span(buffer_).subspan(kept_, kAsked))) {
    const std::size_t first = pass.fresh.size();
    take_all(pass, kept_ + got);
    find_users(pass, first);
    copy_users(pass);
    if (pass.sleepers() > kMostRecords) break;
  }
  if (kept_ > 0) throw std::runtime_error("reading the sleepers by BPF: incomplete record");
}

void BpfLooker::find_users(const Pass& pass, std::size_t first) {
  users_.clear();
  for (std::size_t i = first; i < pass.fresh.size(); ++i)
    if (pass.fresh[i].user == UserPart::Copied) users_.push_back(static_cast<std::uint32_t>(i));
}

// Copies user stacks. A thread that runs meanwhile is sampled and copied again when it sleeps, and
// has no user part after the last attempt.
void BpfLooker::copy_users(Pass& pass) {
  for (int tries = kTries; !users_.empty(); --tries) {
    input_->copy(pass, users_);
    moved_.clear();
    find_moved(pass, users_, [&](std::uint32_t i, const ::look* now) {
      Sleeper& sleeper = pass.fresh[i];
      if (now) fill(pass, sleeper, *now);
      if (tries == 1) sleeper.user = UserPart::Lacking;
      if (sleeper.user == UserPart::Copied) moved_.push_back(i);
    });
    std::swap(users_, moved_);
  }
}

// Handles complete records. The rest of an incomplete record moves to the front of the buffer.
void BpfLooker::take_all(Pass& pass, std::size_t size) {
  std::size_t at = 0;
  ::look record;
  while (size - at >= sizeof record.head) {
    std::memcpy(&record.head, buffer_.data() + at, sizeof record.head);
    const std::size_t whole = record.head.size;
    if (whole < sizeof record.head || whole > sizeof record)
      throw std::runtime_error("reading the sleepers by BPF: invalid record size");
    if (whole > size - at) break;
    std::memcpy(&record, buffer_.data() + at, whole);
    take(pass, record);
    at += whole;
  }
  kept_ = size - at;
  std::memmove(buffer_.data(), buffer_.data() + at, kept_);
}

void BpfLooker::take(Pass& pass, const ::look& record) const {
  if (record.head.tid == record.head.tgid) pass.met.push_back(record.head.tgid);
  if (record.head.flags & LOOK_AWAKE) return;
  const Asleep asleep{record.head.tgid, record.head.tid, record.head.start_boottime / ns_per_tick_};
  if (record.head.flags & LOOK_CLOSED) return pass.closed.push_back(asleep);
  if (record.head.flags & LOOK_AGAIN) return pass.again.push_back(asleep);
  fill(pass, pass.fresh.emplace_back(), record);
}

void BpfLooker::fill(Pass& pass, Sleeper& sleeper, const ::look& record) const {
  sleeper = {};
  sleeper.tgid = record.head.tgid;
  sleeper.tid = record.head.tid;
  sleeper.start_ticks = record.head.start_boottime / ns_per_tick_;
  sleeper.start_ns = record.head.start_boottime;
  sleeper.switches = record.switches;
  sleeper.first_address = pass.addresses.size();
  sleeper.addresses = record.frames;
  pass.addresses.insert(pass.addresses.end(), record.kernel, record.kernel + record.frames);
  if (record.head.flags & LOOK_KERNEL) return;
  sleeper.user = record.head.flags & LOOK_32_BIT ? UserPart::Lacking : UserPart::Copied;
  sleeper.ip = record.ip;
  sleeper.sp = record.sp;
  sleeper.bp = record.bp;
  sleeper.lr = record.lr;
  sleeper.depth = depth_of(record);
  sleeper.code = {record.memory, record.code_pages, record.execs};
}

}  // namespace ctprof::sleepers
