#include "core/registry/call_watch.hpp"

#include <signal.h>

#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace ctprof {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{250};
constexpr std::chrono::milliseconds kFirstWord{2000};

using Function = std::pair<const CallOwner*, const char*>;

// The calls that were observed so far, and how long each function has been slow.
class Looks {
 public:
  // Calls `say` for each function that is due for a report.
  void look(const std::function<void(const SlowCall&)>& say) {
    for (const Function& function : still_there()) {
      Time& time = times_[function];
      time.lasted += kBetweenLooks;
      if (time.lasted < time.next_word) continue;
      time.next_word *= 2;
      say({*function.first, function.second,
           std::chrono::duration_cast<std::chrono::seconds>(time.lasted)});
    }
  }

 private:
  struct Time {
    std::chrono::milliseconds lasted{0};
    std::chrono::milliseconds next_word = kFirstWord;
  };

  // Returns the functions in which a thread is still in the same call as at the last check.
  std::set<Function> still_there() {
    std::set<Function> functions;
    for (std::size_t i = 0; i < kCallSlots; ++i) {
      const CallSlot& slot = call_slots()[i];
      const CallOwner* owner = slot.owner.load(std::memory_order_acquire);
      const char* function = slot.function.load(std::memory_order_relaxed);
      const std::uint32_t call = slot.calls.load(std::memory_order_relaxed);
      if (owner && seen_[i] == std::pair(owner, call)) functions.insert({owner, function});
      seen_[i] = {owner, call};
    }
    return functions;
  }

  std::array<std::pair<const CallOwner*, std::uint32_t>, kCallSlots> seen_{};
  std::map<Function, Time> times_;
};

// Blocks all signals while it exists, so that a new thread inherits the mask and signals go to the
// working threads.
class AllBlocked {
 public:
  AllBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

CallWatch::CallWatch(std::function<void(const SlowCall&)> say) : say_(std::move(say)) {
  const AllBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
  }
}

CallWatch::~CallWatch() { stop(); }

void CallWatch::end() {
  stop();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void CallWatch::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(ending_);
    ends_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void CallWatch::run() {
  try {
    watch();
  } catch (...) {
    thrown_ = std::current_exception();
  }
}

void CallWatch::watch() {
  Looks looks;
  std::unique_lock lock(ending_);
  while (!ended_.wait_for(lock, kBetweenLooks, [this] { return ends_; })) looks.look(say_);
}

}  // namespace ctprof
