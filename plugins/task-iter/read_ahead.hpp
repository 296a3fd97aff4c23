// Reads a pass ahead of whoever makes rows of its records, in a thread of its own: the kernel takes
// as long to write records as we to take them apart. Where no thread can be had, the caller reads.

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

// A thread for what can go on beside the rest, without signals: those are for the threads that
// work. None (not joinable) where the system has no more threads to give: the caller does the work
// then.
template <class Work>
sdk::WorkThread in_background(Work work) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  sdk::WorkThread thread;
  try {
    thread = sdk::WorkThread(std::move(work));
  } catch (const std::system_error&) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

class ReadAhead {
 public:
  // Where records may be few, the caller reads the first of them, so that no thread is begun for
  // nothing. REQUIRES: the pass outlives it, and nobody else reads it.
  ReadAhead(Pass& pass, bool may_be_few);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // As Pass::read, and throws what that throws.
  std::span<const std::byte> read();

 private:
  struct Slot {
    std::unique_ptr<std::byte[]> bytes;  // not zeroed: few threads touch few pages
    std::size_t size = 0;
  };
  static constexpr std::size_t kSlots = 4;

  void begin();
  std::span<const std::byte> read_here();
  void run();
  void fill(Slot& slot);
  // The slot to fill next; null when nobody wants more.
  Slot* wait_for_room();

  Pass& pass_;
  std::size_t bytes_before_ = 0;  // that the caller still reads itself
  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  std::size_t filled_ = 0;  // slots handed over so far
  std::size_t taken_ = 0;   // slots that the caller is done with
  bool reading_ = false;    // whether the caller holds the slot after those
  bool ended_ = false;
  bool abandoned_ = false;
  std::exception_ptr thrown_;
  sdk::WorkThread thread_;  // none: the caller reads
};

}  // namespace ctprof::task_iter
