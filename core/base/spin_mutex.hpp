// A mutex for very short critical sections. It spins before it sleeps, because sleeping and waking
// take a hundred times as long.

#pragma once

#include <mutex>

namespace ctprof {

// Implements Lockable. A thread that waits for more than one or two microseconds sleeps, because
// the owner of the mutex may have lost its CPU.
class SpinMutex {
 public:
  void lock() {
    for (int tries = 0; tries < kMaxTries; ++tries) {
      if (mutex_.try_lock()) return;
      relax();
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kMaxTries = 50;

  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  std::mutex mutex_;
};

}  // namespace ctprof
