// A thread that works beside its maker, on another CPU from its first instruction on.
//
// Kernels may begin a new thread on its maker's CPU though another is idle, as seen in virtual
// machines: maker and thread then take turns, and each waits some milliseconds for the other. This
// one begins elsewhere where the process may use another CPU, and may go anywhere from then on.

#pragma once

#include <pthread.h>
#include <sched.h>

#include <memory>
#include <system_error>
#include <utility>

namespace ctprof::sdk {

class WorkThread {
 public:
  WorkThread() = default;  // none: it is not joinable
  // Begins to do `work`, a function object that is moved into the thread and takes nothing. An
  // exception that leaves it ends the program. Signals are blocked there as in the caller. Throws
  // std::system_error where the system has no more threads to give.
  template <class Work>
  explicit WorkThread(Work work) {
    auto given = std::make_unique<Work>(std::move(work));
    const int error = begin(
        [](void* taken) -> void* {
          const std::unique_ptr<Work> own(static_cast<Work*>(taken));
          (*own)();
          return nullptr;
        },
        given.get());
    if (error != 0) throw std::system_error(error, std::generic_category(), "starting a thread");
    given.release();
    joinable_ = true;
  }
  WorkThread(WorkThread&& other) noexcept
      : thread_(other.thread_), joinable_(std::exchange(other.joinable_, false)) {}
  // Waits for the thread that this was, if any.
  WorkThread& operator=(WorkThread&& other) noexcept {
    if (this == &other) return *this;
    if (joinable_) join();
    thread_ = other.thread_;
    joinable_ = std::exchange(other.joinable_, false);
    return *this;
  }
  ~WorkThread() {
    if (joinable_) join();
  }

  bool joinable() const { return joinable_; }
  // Waits until the work is done. REQUIRES: joinable, by another thread.
  void join() { ::pthread_join(thread_, nullptr), joinable_ = false; }
  // Lets go of it: nobody can wait for it any more. REQUIRES: joinable.
  void detach() { ::pthread_detach(thread_), joinable_ = false; }
  // REQUIRES: joinable.
  pthread_t native_handle() const { return thread_; }

 private:
  using Body = void* (*)(void*);

  // A kernel that says nothing of CPUs (there are more than fit into a set, or a filter is in the
  // way) gets a thread begun as usual.
  int begin(Body body, void* work) {
    cpu_set_t all;
    if (::sched_getaffinity(0, sizeof all, &all) == 0 && begin_elsewhere(all, body, work)) {
      ::pthread_setaffinity_np(thread_, sizeof all, &all);
      return 0;
    }
    return ::pthread_create(&thread_, nullptr, body, work);
  }

  bool begin_elsewhere(cpu_set_t cpus, Body body, void* work) {
    const int here = ::sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE) return false;
    CPU_CLR(static_cast<unsigned>(here), &cpus);
    pthread_attr_t attributes;
    if (CPU_COUNT(&cpus) == 0 || ::pthread_attr_init(&attributes) != 0) return false;
    const bool has_begun = ::pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus) == 0 &&
                           ::pthread_create(&thread_, &attributes, body, work) == 0;
    ::pthread_attr_destroy(&attributes);
    return has_begun;
  }

  pthread_t thread_{};
  bool joinable_ = false;
};

}  // namespace ctprof::sdk
