#include "plugins/sleepers/tally.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace ctprof::sleepers {
namespace {

// The kernel assigns no larger tid (PID_MAX_LIMIT).
constexpr std::size_t kMaxTid = 1 << 22;
// Limit of processes whose code is stored; when it is reached, all are dropped.
constexpr std::size_t kMaxProcesses = 1 << 16;

sdk::Record make_record(std::uint32_t tgid, std::uint32_t tid, std::uint64_t start_ticks,
                        std::uint64_t weight) {
  sdk::Record record(tgid, tid, weight);
  record.start_time_clock_ticks = start_ticks;
  return record;
}

}  // namespace

// The kernel only allocates pages of this memory that are used.
Tally::Tally(const RecordFormat& shape)
    : format_(shape),
      index_plus_one_(
          static_cast<std::uint32_t*>(std::calloc(kMaxTid + 1, sizeof(std::uint32_t)))) {
  if (!index_plus_one_) throw std::bad_alloc();
  followed_processes_.insert(shape.parents.begin(), shape.parents.end());
}

Tally::Thread& Tally::find_thread(std::uint32_t tgid, std::uint32_t tid, std::uint64_t start_ticks,
                                  const sdk::Records& records) {
  std::uint32_t& index_plus_one = index_plus_one_[tid];
  if (index_plus_one == 0) {
    threads_.push_back({.tgid = tgid, .tid = tid, .start_ticks = start_ticks});
    index_plus_one = static_cast<std::uint32_t>(threads_.size());
  }
  Thread& thread = threads_[index_plus_one - 1];
  if (thread.tgid != tgid || thread.start_ticks != start_ticks) {
    put_counts(thread, records);
    thread = {.tgid = tgid, .tid = tid, .start_ticks = start_ticks};
  }
  thread.pass = pass_;
  ++thread.samples;
  return thread;
}

void Tally::put_repeats(Thread& thread, const sdk::Records& records) {
  if (thread.repeats == 0) return;
  sdk::Record record = make_record(thread.tgid, thread.tid, thread.start_ticks, thread.repeats);
  record.flags = CTPROF_RECORD_AGAIN;
  records.put(record);
  thread.repeats = 0;
}

// Reports the gap once; it appears if the thread has no other value.
void Tally::put_hidden_stack(Thread& thread, const sdk::Records& records) {
  if (std::exchange(thread.has_hidden_stack, true)) return;
  ++hidden_stack_count_;
  records.put_unseen(thread.tgid, thread.tid, thread.start_ticks, kStacksOffer);
}

void Tally::put_counts(Thread& thread, const sdk::Records& records) {
  put_repeats(thread, records);
  if (thread.samples == 0) return;
  sdk::Record record = make_record(thread.tgid, thread.tid, thread.start_ticks, thread.samples);
  record.offer = kSamplesOffer;
  records.put(record);
  thread.samples = 0;
}

void Tally::put_change(const Pass& pass, const Sleeper& sleeper, const sdk::Records& records) {
  if (processes_.size() >= kMaxProcesses) processes_.clear();
  const auto [entry, is_new] = processes_.try_emplace(sleeper.tgid, sleeper.code);
  if (is_new || entry->second == sleeper.code) return;
  entry->second = sleeper.code;
  ctprof_change change{};
  change.kind = CTPROF_CHANGE_REMAPPED;
  change.tgid = sleeper.tgid;
  change.at_ns = pass.at_ns;
  records.put(change);
}

// A pass does not show the exact parent, so the mappings of the process must be read again.
void Tally::put_fork(const Pass& pass, std::uint32_t tgid, const sdk::Records& records) {
  if (format_.parents.empty() || !followed_processes_.insert(tgid).second) return;
  ctprof_change change{};
  change.tgid = tgid;
  change.at_ns = pass.at_ns;
  change.kind = CTPROF_CHANGE_FORKED;
  change.parent = format_.parents.front();
  records.put(change);
  change.kind = CTPROF_CHANGE_REMAPPED;
  change.parent = 0;
  records.put(change);
}

// Each frame starts with the frame pointer of its caller, followed by the return address.
void Tally::follow_frame_pointers(const Pass& pass, const Sleeper& sleeper) {
  const auto copy = pass.copies.part(sleeper.copy_offset, sleeper.copied);
  user_.assign(1, sleeper.ip);
  std::uint64_t frame[2], frame_address = sleeper.bp;
  while (user_.size() < 1024 && frame_address >= sleeper.sp && copy.size() >= sizeof frame &&
         frame_address - sleeper.sp <= copy.size() - sizeof frame) {
    std::memcpy(frame, copy.data() + (frame_address - sleeper.sp), sizeof frame);
    if (frame[1] == 0) break;
    user_.push_back(frame[1]);
    if (frame[0] <= frame_address) break;
    frame_address = frame[0];
  }
}

void Tally::put_stack(const Pass& pass, const Sleeper& sleeper, const sdk::Records& records) {
  sdk::Record record = make_record(sleeper.tgid, sleeper.tid, sleeper.start_ticks, 1);
  auto kernel = std::span(pass.addresses).subspan(sleeper.first_address, sleeper.addresses);
  if (format_.depth > 0 && kernel.size() > format_.depth) {
    kernel = kernel.first(format_.depth);
    record.flags |= CTPROF_RECORD_CUT;
  }
  if (kernel.size() >= format_.max_kernel_frames) record.flags |= CTPROF_RECORD_CUT;
  record.set_kernel(kernel);
  if (sleeper.user == UserPart::Unavailable) record.flags |= CTPROF_RECORD_NO_USER;
  if (sleeper.user == UserPart::Copied && format_.uses_frame_pointers) {
    follow_frame_pointers(pass, sleeper);
    record.set_user(user_);
    record.flags |= CTPROF_RECORD_GUESSED;
  } else if (sleeper.user == UserPart::Copied) {
    record.set_user_copy(sleeper.ip, sleeper.sp, sleeper.bp, sleeper.lr,
                         pass.copies.part(sleeper.copy_offset, sleeper.copied));
  }
  records.put(record);
}

void Tally::remove_thread(std::size_t index) {
  index_plus_one_[threads_[index].tid] = 0;
  if (index + 1 < threads_.size()) {
    threads_[index] = threads_.back();
    index_plus_one_[threads_[index].tid] = static_cast<std::uint32_t>(index + 1);
  }
  threads_.pop_back();
}

void Tally::add_pass(const Pass& pass, const sdk::Records& records) {
  ++pass_;
  records.count_unseen(pass.unsampled);
  for (const SleepingThread& one : pass.hidden_stacks) put_fork(pass, one.tgid, records);
  for (const Sleeper& sleeper : pass.changed_sleepers) put_fork(pass, sleeper.tgid, records);
  for (const SleepingThread& one : pass.unchanged)
    if (one.tid <= kMaxTid) ++find_thread(one.tgid, one.tid, one.start_ticks, records).repeats;
  for (const SleepingThread& one : pass.hidden_stacks)
    if (one.tid <= kMaxTid)
      put_hidden_stack(find_thread(one.tgid, one.tid, one.start_ticks, records), records);
  for (const Sleeper& sleeper : pass.changed_sleepers) {
    if (sleeper.tid > kMaxTid) continue;
    put_repeats(find_thread(sleeper.tgid, sleeper.tid, sleeper.start_ticks, records), records);
    if (sleeper.user != UserPart::None) put_change(pass, sleeper, records);
    put_stack(pass, sleeper, records);
  }
  for (std::size_t i = threads_.size(); i-- > 0;) {
    if (threads_[i].pass == pass_) continue;
    put_counts(threads_[i], records);
    remove_thread(i);
  }
}

void Tally::end_window(const sdk::Records& records) {
  for (Thread& thread : threads_) {
    put_counts(thread, records);
    index_plus_one_[thread.tid] = 0;
  }
  threads_.clear();
  hidden_stack_count_ = 0;
}

}  // namespace ctprof::sleepers
