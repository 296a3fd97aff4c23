// A thread that starts on another CPU than its creator.
//
// A kernel may start a new thread on its creator's CPU even if another is idle, as seen in virtual
// machines. The two threads then alternate, and each waits some milliseconds for the other. A
// WorkThread starts on another CPU if the process may use one, and is then free to migrate.

#pragma once

#include <pthread.h>
#include <sched.h>

#include <memory>
#include <system_error>
#include <utility>

namespace ctprof::sdk {

class WorkThread {
 public:
  WorkThread() = default;  // no thread: it is not joinable
  // Starts a thread that calls `work`, a function object without arguments that is moved into the
  // thread. An exception that leaves `work` terminates the program. The thread inherits the
  // caller's signal mask. Throws std::system_error if the system cannot create a thread.
  template <class Work>
  explicit WorkThread(Work work) {
    auto owned_work = std::make_unique<Work>(std::move(work));
    const int error = begin(
        [](void* taken) -> void* {
          const std::unique_ptr<Work> own(static_cast<Work*>(taken));
          (*own)();
          return nullptr;
        },
        owned_work.get());
    if (error != 0) throw std::system_error(error, std::generic_category(), "starting a thread");
    owned_work.release();
    joinable_ = true;
  }
  WorkThread(WorkThread&& other) noexcept
      : thread_(other.thread_), joinable_(std::exchange(other.joinable_, false)) {}
  // Joins the current thread first, if there is one.
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
  // Waits until the work is done. REQUIRES: joinable, called by another thread.
  void join() { ::pthread_join(thread_, nullptr), joinable_ = false; }
  // Detaches the thread, which can then no longer be joined. REQUIRES: joinable.
  void detach() { ::pthread_detach(thread_), joinable_ = false; }
  // REQUIRES: joinable.
  pthread_t native_handle() const { return thread_; }

 private:
  using Body = void* (*)(void*);

  // If the affinity is unavailable (more CPUs than fit into a cpu_set_t, or a seccomp filter),
  // starts the thread without an affinity.
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
