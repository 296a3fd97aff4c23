#include "plugins/task-iter/read_ahead.hpp"

#include <algorithm>

namespace ctprof::task_iter {
namespace {

// Size of the records that are handed over together: about 200 threads, so that the two threads
// wake each other rarely.
constexpr std::size_t kSlotBytes = 128 * 1024;

}  // namespace

ReadAhead::ReadAhead(Pass& pass, bool may_be_few) : pass_(pass) {
  may_be_few ? void(bytes_before_ = kSlotBytes) : begin();
}

void ReadAhead::begin() {
  thread_ = in_background([this] { run(); });
}

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::span<const std::byte> ReadAhead::read() {
  if (!thread_.joinable()) return read_here();
  std::unique_lock lock(mutex_);
  if (reading_) ++taken_;
  reading_ = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return taken_ < filled_ || ended_; });
  if (taken_ < filled_) {
    reading_ = true;
    const Slot& slot = slots_[taken_ % kSlots];
    return {slot.bytes.get(), slot.size};
  }
  if (thrown_) std::rethrow_exception(thrown_);
  return {};
}

std::span<const std::byte> ReadAhead::read_here() {
  if (bytes_before_ == 0) return pass_.read();
  const auto records = pass_.read();
  bytes_before_ -= std::min(bytes_before_, records.size());
  if (bytes_before_ == 0) begin();
  return records;
}

void ReadAhead::run() {
  try {
    while (Slot* slot = wait_for_room()) {
      fill(*slot);
      if (slot->size == 0) break;
      const std::lock_guard lock(mutex_);
      ++filled_;
      changed_.notify_all();
    }
  } catch (...) {
    thrown_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

// Allocates space at the end, because the last record is shorter than its type.
void ReadAhead::fill(Slot& slot) {
  if (!slot.bytes)
    slot.bytes.reset(new std::byte[kSlotBytes + pass_.most_bytes() + sizeof(record)]);
  slot.size = 0;
  for (std::size_t got = 1; got > 0 && slot.size < kSlotBytes; slot.size += got)
    got = pass_.read_into(slot.bytes.get() + slot.size);
}

ReadAhead::Slot* ReadAhead::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return filled_ - taken_ < kSlots || abandoned_; });
  return abandoned_ ? nullptr : &slots_[filled_ % kSlots];
}

}  // namespace ctprof::task_iter
