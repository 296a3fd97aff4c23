// A thread for what can go on beside the rest, without signals: those are for the threads that
// work.

#pragma once

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

namespace ctprof::task_iter {

// None (not joinable) where the system has no more threads to give: the caller does the work then.
template <class Work>
std::thread in_background(Work work) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::move(work));
  } catch (const std::system_error&) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace ctprof::task_iter
