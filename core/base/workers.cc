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
unsigned spare_workers() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const unsigned processors = ::sched_getaffinity(0, sizeof mine, &mine) == 0
                                  ? static_cast<unsigned>(CPU_COUNT(&mine))
                                  : std::thread::hardware_concurrency();
  sdk::TextFile file;
  return spare_workers(processors, file.read(AT_FDCWD, "/proc/loadavg").value);
}

unsigned spare_workers(unsigned processors, std::string_view loadavg) {
  for (int average = 0; average < 3; ++average) sdk::take(loadavg, ' ');
  const unsigned running = sdk::number<unsigned>(sdk::take(loadavg, '/')).value;
  const unsigned others = running > 0 ? running - 1 : 0;
  return others < processors ? processors - others : 1;
}

std::vector<std::uint64_t> share(unsigned workers, std::size_t pieces,
                                 const std::function<void(unsigned, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  workers = static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, workers));
  std::vector<std::uint64_t> tids(workers);
  const auto run = [&](unsigned worker) {
    const CLocale locale;
    tids[worker] = static_cast<std::uint64_t>(::gettid());
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) work(worker, piece);
    } catch (...) {
      const std::lock_guard lock(failing);
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
class Repeated {
 public:
  Repeated(std::chrono::milliseconds every, const std::function<void()>& again) {
    try {
      thread_ = std::jthread([=, this](const std::stop_token& stop) { run(stop, every, again); });
      begun_.get_future().wait();
    } catch (const std::system_error&) {
      // RLIMIT_NPROC permits no more threads.
    }
  }
  std::uint64_t tid() const { return tid_; }
  // Waits for the last run, and rethrows an exception of the task.
  void end() {
    if (thread_.joinable()) thread_.request_stop(), thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run(const std::stop_token& stop, std::chrono::milliseconds every,
           const std::function<void()>& again) {
    const CLocale locale;
    tid_ = static_cast<std::uint64_t>(::gettid());
    begun_.set_value();
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    try {
      do again();
      while (!never.wait_for(lock, stop, every, [&] { return stop.stop_requested(); }));
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  std::promise<void> begun_;
  std::uint64_t tid_ = 0;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace

std::uint64_t work_beside(std::chrono::milliseconds every, const std::function<void()>& again,
                          const std::function<void()>& work) {
  Repeated repeated(every, again);
  work();
  repeated.end();
  return repeated.tid();
}

namespace {

// glibc has a single C locale: it is not allocated and need not be freed.
locale_t c_locale() {
  static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", locale_t{});
  return locale;
}

}  // namespace

CLocale::CLocale() : before_(::uselocale(c_locale())) {}
CLocale::~CLocale() { ::uselocale(before_); }

}  // namespace ctprof
