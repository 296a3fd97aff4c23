#include "core/registry/call_watch.hpp"

#include <signal.h>

#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace ctprof {
namespace {

constexpr std::chrono::milliseconds kPollInterval{250};
constexpr std::chrono::milliseconds kFirstReportAfter{2000};

using Function = std::pair<const CallOwner*, const char*>;

// The calls that were observed so far, and how long each function has been slow.
class SlowCallTracker {
 public:
  // Calls `report` for each function that is due for a report.
  void report_slow_calls(const std::function<void(const SlowCall&)>& report) {
    for (const Function& function : find_functions_in_same_call()) {
      FunctionTime& time = times_[function];
      time.duration += kPollInterval;
      if (time.duration < time.next_report) continue;
      time.next_report *= 2;
      report({*function.first, function.second,
              std::chrono::duration_cast<std::chrono::seconds>(time.duration)});
    }
  }

 private:
  struct FunctionTime {
    std::chrono::milliseconds duration{0};
    std::chrono::milliseconds next_report = kFirstReportAfter;
  };

  // Returns the functions in which a thread is still in the same call as at the last check.
  std::set<Function> find_functions_in_same_call() {
    std::set<Function> functions;
    for (std::size_t i = 0; i < kCallSlots; ++i) {
      const CallSlot& slot = call_slots()[i];
      const CallOwner* owner = slot.owner.load(std::memory_order_acquire);
      const char* function = slot.function.load(std::memory_order_relaxed);
      const std::uint32_t call = slot.call_count.load(std::memory_order_relaxed);
      if (owner && last_calls_[i] == std::pair(owner, call)) functions.insert({owner, function});
      last_calls_[i] = {owner, call};
    }
    return functions;
  }

  std::array<std::pair<const CallOwner*, std::uint32_t>, kCallSlots> last_calls_{};
  std::map<Function, FunctionTime> times_;
};

// Blocks all signals while it exists, so that a new thread inherits the mask and signals go to the
// working threads.
class SignalBlocker {
 public:
  SignalBlocker() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &old_mask_);
  }
  ~SignalBlocker() { ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr); }

 private:
  sigset_t old_mask_;
};

}  // namespace

CallWatch::CallWatch(std::function<void(const SlowCall&)> report) : report_(std::move(report)) {
  const SignalBlocker signal_blocker;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
  }
}

CallWatch::~CallWatch() { stop(); }

void CallWatch::finish() {
  stop();
  if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
}

void CallWatch::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(stop_mutex_);
    is_stopping_ = true;
  }
  stop_condition_.notify_one();
  thread_.join();
}

void CallWatch::run() {
  try {
    watch();
  } catch (...) {
    exception_ = std::current_exception();
  }
}

void CallWatch::watch() {
  SlowCallTracker tracker;
  std::unique_lock lock(stop_mutex_);
  while (!stop_condition_.wait_for(lock, kPollInterval, [this] { return is_stopping_; }))
    tracker.report_slow_calls(report_);
}

}  // namespace ctprof
