// Reads a pass ahead of its consumer, in a separate thread, because the kernel takes as long to
// write records as ctprof takes to decode them. If no thread can be created, the caller reads.

#pragma once

#include <signal.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <utility>

#include "ctprof/work_thread.hpp"
#include "plugins/task-iter/pass.hpp"

namespace ctprof::task_iter {

// Starts a thread for background work, with all signals blocked, because other threads handle them.
// Returns no thread (not joinable) if the system cannot create one; then the caller does the work.
template <class Work>
sdk::WorkThread start_background_thread(Work work) {
  sigset_t all, old_mask;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old_mask);
  sdk::WorkThread thread;
  try {
    thread = sdk::WorkThread(std::move(work));
  } catch (const std::system_error&) {
  }
  ::pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  return thread;
}

class ReadAheadPass {
 public:
  // If there may be few records, the caller reads the first ones itself, so that no thread is
  // started unnecessarily. REQUIRES: the pass outlives this object, and no one else reads it.
  ReadAheadPass(RecordReader& pass, bool may_have_few_records);
  ~ReadAheadPass();
  ReadAheadPass(const ReadAheadPass&) = delete;
  ReadAheadPass& operator=(const ReadAheadPass&) = delete;

  // Records are read ahead into this many slots, each of this many bytes or a little more: about
  // 200 threads, so that the two threads wake each other rarely.
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = 128 * 1024;

  // Like RecordReader::read, with the same exceptions.
  std::span<const std::byte> read();

 private:
  struct Slot {
    std::unique_ptr<std::byte[]> bytes;  // not zeroed: few threads touch few pages
    std::size_t size = 0;
  };

  void start_thread();
  std::span<const std::byte> read_in_caller();
  void run();
  void fill(Slot& slot);
  // Returns the slot to fill next; null if no more are needed.
  Slot* wait_for_free_slot();

  RecordReader& pass_;
  std::size_t caller_bytes_left_ = 0;  // bytes that the caller still reads itself
  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;  // protects the members below
  std::condition_variable changed_;
  std::size_t filled_slots_ = 0;    // slots handed over so far
  std::size_t finished_slots_ = 0;  // slots that the caller has finished
  bool is_slot_in_use_ = false;     // whether the caller uses the slot after these
  bool has_ended_ = false;
  bool is_abandoned_ = false;
  std::exception_ptr exception_;
  sdk::WorkThread thread_;  // not joinable: the caller reads
};

}  // namespace ctprof::task_iter
