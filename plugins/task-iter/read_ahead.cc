#include "plugins/task-iter/read_ahead.hpp"

#include <algorithm>

namespace ctprof::task_iter {

ReadAheadPass::ReadAheadPass(RecordReader& pass, bool may_have_few_records) : pass_(pass) {
  may_have_few_records ? void(caller_bytes_left_ = kSlotBytes) : start_thread();
}

void ReadAheadPass::start_thread() {
  thread_ = start_background_thread([this] { run(); });
}

ReadAheadPass::~ReadAheadPass() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_abandoned_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::span<const std::byte> ReadAheadPass::read() {
  if (!thread_.joinable()) return read_in_caller();
  std::unique_lock lock(mutex_);
  if (is_slot_in_use_) ++finished_slots_;
  is_slot_in_use_ = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return finished_slots_ < filled_slots_ || has_ended_; });
  if (finished_slots_ < filled_slots_) {
    is_slot_in_use_ = true;
    const Slot& slot = slots_[finished_slots_ % kSlots];
    return {slot.bytes.get(), slot.size};
  }
  if (exception_) std::rethrow_exception(exception_);
  return {};
}

std::span<const std::byte> ReadAheadPass::read_in_caller() {
  if (caller_bytes_left_ == 0) return pass_.read();
  const auto records = pass_.read();
  caller_bytes_left_ -= std::min(caller_bytes_left_, records.size());
  if (caller_bytes_left_ == 0) start_thread();
  return records;
}

void ReadAheadPass::run() {
  try {
    while (Slot* slot = wait_for_free_slot()) {
      fill(*slot);
      if (slot->size == 0) break;
      const std::lock_guard lock(mutex_);
      ++filled_slots_;
      changed_.notify_all();
    }
  } catch (...) {
    exception_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

// Allocates space at the end, because the last record is shorter than its type.
void ReadAheadPass::fill(Slot& slot) {
  if (!slot.bytes) slot.bytes.reset(new std::byte[kSlotBytes + pass_.max_bytes() + sizeof(record)]);
  slot.size = 0;
  for (std::size_t size_read = 1; size_read > 0 && slot.size < kSlotBytes; slot.size += size_read)
    size_read = pass_.read_into(slot.bytes.get() + slot.size);
}

ReadAheadPass::Slot* ReadAheadPass::wait_for_free_slot() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return filled_slots_ - finished_slots_ < kSlots || is_abandoned_; });
  return is_abandoned_ ? nullptr : &slots_[filled_slots_ % kSlots];
}

}  // namespace ctprof::task_iter
