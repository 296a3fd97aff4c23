#include "plugins/sleepers/tally.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace ctprof::sleepers {
namespace {

// The kernel assigns no larger tid (PID_MAX_LIMIT).
constexpr std::size_t kMostId = 1 << 22;
// Limit of processes whose code is stored; when it is reached, all are dropped.
constexpr std::size_t kMostProcesses = 1 << 16;

sdk::Record record_of(std::uint32_t tgid, std::uint32_t tid, std::uint64_t start_ticks,
                      std::uint64_t weight) {
  sdk::Record record(tgid, tid, weight);
  record.start_time_clock_ticks = start_ticks;
  return record;
}

}  // namespace

// The kernel only allocates pages of this memory that are used.
Tally::Tally(const Shape& shape)
    : shape_(shape),
      place_and_one_(static_cast<std::uint32_t*>(std::calloc(kMostId + 1, sizeof(std::uint32_t)))) {
  if (!place_and_one_) throw std::bad_alloc();
  family_.insert(shape.parents.begin(), shape.parents.end());
}

Tally::Thread& Tally::found(std::uint32_t tgid, std::uint32_t tid, std::uint64_t start_ticks,
                            const sdk::Records& records) {
  std::uint32_t& place = place_and_one_[tid];
  if (place == 0) {
    threads_.push_back({.tgid = tgid, .tid = tid, .start_ticks = start_ticks});
    place = static_cast<std::uint32_t>(threads_.size());
  }
  Thread& thread = threads_[place - 1];
  if (thread.tgid != tgid || thread.start_ticks != start_ticks) {
    put_all(thread, records);
    thread = {.tgid = tgid, .tid = tid, .start_ticks = start_ticks};
  }
  thread.pass = pass_;
  ++thread.samples;
  return thread;
}

void Tally::put_repeats(Thread& thread, const sdk::Records& records) {
  if (thread.repeats == 0) return;
  sdk::Record record = record_of(thread.tgid, thread.tid, thread.start_ticks, thread.repeats);
  record.flags = CTPROF_RECORD_AGAIN;
  records.put(record);
  thread.repeats = 0;
}

// Reports the gap once; it appears if the thread has no other value.
void Tally::put_closed(Thread& thread, const sdk::Records& records) {
  if (std::exchange(thread.is_closed, true)) return;
  ++closed_;
  records.put_unseen(thread.tgid, thread.tid, thread.start_ticks, kStacksOffer);
}

void Tally::put_all(Thread& thread, const sdk::Records& records) {
  put_repeats(thread, records);
  if (thread.samples == 0) return;
  sdk::Record record = record_of(thread.tgid, thread.tid, thread.start_ticks, thread.samples);
  record.offer = kSamplesOffer;
  records.put(record);
  thread.samples = 0;
}

void Tally::put_change(const Pass& pass, const Sleeper& sleeper, const sdk::Records& records) {
  if (processes_.size() >= kMostProcesses) processes_.clear();
  const auto [known, is_new] = processes_.try_emplace(sleeper.tgid, sleeper.code);
  if (is_new || known->second == sleeper.code) return;
  known->second = sleeper.code;
  ctprof_change change{};
  change.kind = CTPROF_CHANGE_REMAPPED;
  change.tgid = sleeper.tgid;
  change.at_ns = pass.at_ns;
  records.put(change);
}

// A pass does not show the exact parent, so the mappings of the process must be read again.
void Tally::put_birth(const Pass& pass, std::uint32_t tgid, const sdk::Records& records) {
  if (shape_.parents.empty() || !family_.insert(tgid).second) return;
  ctprof_change change{};
  change.tgid = tgid;
  change.at_ns = pass.at_ns;
  change.kind = CTPROF_CHANGE_FORKED;
  change.parent = shape_.parents.front();
  records.put(change);
  change.kind = CTPROF_CHANGE_REMAPPED;
  change.parent = 0;
  records.put(change);
}

// Each frame starts with the frame pointer of its caller, followed by the return address.
void Tally::follow_frame_pointers(const Pass& pass, const Sleeper& sleeper) {
  const auto copy = pass.copies.part(sleeper.copy_at, sleeper.copied);
  user_.assign(1, sleeper.ip);
  std::uint64_t frame[2], at = sleeper.bp;
  while (user_.size() < 1024 && at >= sleeper.sp && copy.size() >= sizeof frame &&
         at - sleeper.sp <= copy.size() - sizeof frame) {
    std::memcpy(frame, copy.data() + (at - sleeper.sp), sizeof frame);
    if (frame[1] == 0) break;
    user_.push_back(frame[1]);
    if (frame[0] <= at) break;
    at = frame[0];
  }
}

void Tally::put_stack(const Pass& pass, const Sleeper& sleeper, const sdk::Records& records) {
  sdk::Record record = record_of(sleeper.tgid, sleeper.tid, sleeper.start_ticks, 1);
  auto kernel = std::span(pass.addresses).subspan(sleeper.first_address, sleeper.addresses);
  if (shape_.depth > 0 && kernel.size() > shape_.depth) {
    kernel = kernel.first(shape_.depth);
    record.flags |= CTPROF_RECORD_CUT;
  }
  if (kernel.size() >= shape_.most_kernel) record.flags |= CTPROF_RECORD_CUT;
  record.set_kernel(kernel);
  if (sleeper.user == UserPart::Lacking) record.flags |= CTPROF_RECORD_NO_USER;
  if (sleeper.user == UserPart::Copied && shape_.by_frame_pointers) {
    follow_frame_pointers(pass, sleeper);
    record.set_user(user_);
    record.flags |= CTPROF_RECORD_GUESSED;
  } else if (sleeper.user == UserPart::Copied) {
    record.set_user_copy(sleeper.ip, sleeper.sp, sleeper.bp, sleeper.lr,
                         pass.copies.part(sleeper.copy_at, sleeper.copied));
  }
  records.put(record);
}

void Tally::forget(std::size_t place) {
  place_and_one_[threads_[place].tid] = 0;
  if (place + 1 < threads_.size()) {
    threads_[place] = threads_.back();
    place_and_one_[threads_[place].tid] = static_cast<std::uint32_t>(place + 1);
  }
  threads_.pop_back();
}

void Tally::take(const Pass& pass, const sdk::Records& records) {
  ++pass_;
  records.count_unseen(pass.unseen);
  for (const Asleep& one : pass.closed) put_birth(pass, one.tgid, records);
  for (const Sleeper& sleeper : pass.fresh) put_birth(pass, sleeper.tgid, records);
  for (const Asleep& one : pass.again)
    if (one.tid <= kMostId) ++found(one.tgid, one.tid, one.start_ticks, records).repeats;
  for (const Asleep& one : pass.closed)
    if (one.tid <= kMostId) put_closed(found(one.tgid, one.tid, one.start_ticks, records), records);
  for (const Sleeper& sleeper : pass.fresh) {
    if (sleeper.tid > kMostId) continue;
    put_repeats(found(sleeper.tgid, sleeper.tid, sleeper.start_ticks, records), records);
    if (sleeper.user != UserPart::None) put_change(pass, sleeper, records);
    put_stack(pass, sleeper, records);
  }
  for (std::size_t i = threads_.size(); i-- > 0;) {
    if (threads_[i].pass == pass_) continue;
    put_all(threads_[i], records);
    forget(i);
  }
}

void Tally::end_window(const sdk::Records& records) {
  for (Thread& thread : threads_) {
    put_all(thread, records);
    place_and_one_[thread.tid] = 0;
  }
  threads_.clear();
  closed_ = 0;
}

}  // namespace ctprof::sleepers
