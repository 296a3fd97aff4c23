#include "core/base/workers.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <future>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include "ctprof/files.hpp"
#include "ctprof/work_thread.hpp"

namespace ctprof {
unsigned count_spare_workers() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const unsigned processors = ::sched_getaffinity(0, sizeof mine, &mine) == 0
                                  ? static_cast<unsigned>(CPU_COUNT(&mine))
                                  : std::thread::hardware_concurrency();
  sdk::TextFile file;
  return count_spare_workers(processors, file.read(AT_FDCWD, "/proc/loadavg").value);
}

unsigned count_spare_workers(unsigned processors, std::string_view loadavg) {
  for (int average = 0; average < 3; ++average) sdk::take(loadavg, ' ');
  const unsigned running = sdk::number<unsigned>(sdk::take(loadavg, '/')).value;
  const unsigned other_running = running > 0 ? running - 1 : 0;
  return other_running < processors ? processors - other_running : 1;
}

std::vector<std::uint64_t> share_work(unsigned workers, std::size_t pieces,
                                      const std::function<void(unsigned, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  workers = static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, workers));
  std::vector<std::uint64_t> tids(workers);
  const auto run = [&](unsigned worker) {
    const CLocale locale;
    tids[worker] = static_cast<std::uint64_t>(::gettid());
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) work(worker, piece);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = pieces;
    }
  };
  {
    std::vector<sdk::WorkThread> threads;
    try {
      for (unsigned worker = 1; worker < workers; ++worker)
        threads.emplace_back([&run, worker] { run(worker); });
    } catch (const std::system_error&) {
      workers = static_cast<unsigned>(threads.size()) +
                1;  // RLIMIT_NPROC permits no more; the existing threads do all work
    }
    run(0);
  }
  if (failure) std::rethrow_exception(failure);
  tids.resize(workers);
  return tids;
}

namespace {

// A thread that runs a task periodically until the object is destroyed.
class PeriodicTask {
 public:
  PeriodicTask(std::chrono::milliseconds interval, const std::function<void()>& task) {
    try {
      thread_ = std::jthread([=, this](const std::stop_token& stop) { run(stop, interval, task); });
      start_signal_.get_future().wait();
    } catch (const std::system_error&) {
      // RLIMIT_NPROC permits no more threads.
    }
  }
  std::uint64_t tid() const { return tid_; }
  // Waits for the last run, and rethrows an exception of the task.
  void stop_and_join() {
    if (thread_.joinable()) thread_.request_stop(), thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run(const std::stop_token& stop, std::chrono::milliseconds interval,
           const std::function<void()>& task) {
    const CLocale locale;
    tid_ = static_cast<std::uint64_t>(::gettid());
    start_signal_.set_value();
    std::mutex mutex;
    std::condition_variable_any stop_condition;
    std::unique_lock lock(mutex);
    try {
      do task();
      while (!stop_condition.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); }));
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  std::promise<void> start_signal_;
  std::uint64_t tid_ = 0;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace

std::uint64_t run_with_periodic_task(std::chrono::milliseconds interval,
                                     const std::function<void()>& task,
                                     const std::function<void()>& work) {
  PeriodicTask periodic_task(interval, task);
  work();
  periodic_task.stop_and_join();
  return periodic_task.tid();
}

namespace {

// glibc has a single C locale: it is not allocated and need not be freed.
locale_t c_locale() {
  static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", locale_t{});
  return locale;
}

}  // namespace

CLocale::CLocale() : previous_(::uselocale(c_locale())) {}
CLocale::~CLocale() { ::uselocale(previous_); }

}  // namespace ctprof
