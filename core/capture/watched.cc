#include "core/capture/watched.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>

#include "core/base/workers.hpp"
#include "core/capture/held.hpp"
#include "core/registry/plugin_call.hpp"
#include "ctprof/work_thread.hpp"

namespace ctprof {
namespace {

// The timeout is counted in slices, so that it does not expire when ctprof itself was stopped.
constexpr std::chrono::milliseconds kSlice{250};
constexpr int kSlices = kPatienceSeconds * 1000 / static_cast<int>(kSlice.count());

// Whether a worker is abandoned. It may return from the kernel at the moment of the decision. The
// first change from Suspected decides: by the worker in its handler, or by the watcher.
enum class Trust : int { Works, Doubted, GivenUp };

constinit thread_local std::atomic<Trust>* t_trust = nullptr;

void stay_away(int) {
  Trust now = Trust::Doubted;
  if (!t_trust || t_trust->compare_exchange_strong(now, Trust::Works)) return;
  while (now == Trust::GivenUp) ::pause();
}

int signal_to_stay_away() { return SIGRTMIN + 7; }

void install_handler() {
  struct sigaction action {};
  action.sa_handler = stay_away;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigaction(signal_to_stay_away(), &action, nullptr);
}

void let_signal_in() {
  sigset_t ours;
  ::sigemptyset(&ours);
  ::sigaddset(&ours, signal_to_stay_away());
  ::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
}

struct Member {
  sdk::WorkThread thread;
  std::atomic<Trust> trust{Trust::Works};
  std::atomic<std::uint64_t> tid{0};
  std::atomic<std::size_t> piece{0};
  std::atomic<CallSlot*> call{nullptr};
  bool working = true;
  // The last values that the watcher read.
  std::size_t last_piece = 0;
  std::int64_t last_time = -1;
  int idle_slices = 0;
};

std::int64_t processor_time(const sdk::WorkThread& thread) {
  clockid_t clock;
  timespec time{};
  if (::pthread_getcpuclockid(thread.native_handle(), &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0)
    return -1;
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Shared by all its threads, so that it outlives an abandoned one.
class Crew : public std::enable_shared_from_this<Crew> {
 public:
  Crew(std::size_t pieces, const std::function<void(unsigned, std::size_t)>& work,
       const Watch& watch)
      : work_(work), watch_(watch), end_(pieces) {}

  std::vector<std::uint64_t> run(unsigned workers) {
    for (unsigned worker = 0; worker < workers; ++worker) {
      members_.push_back(std::make_unique<Member>());
      if (!start(worker)) break;
    }
    {
      std::unique_lock lock(mutex_);
      while (working_ > 0)
        if (done_.wait_for(lock, kSlice) == std::cv_status::timeout) look_after_all(lock);
    }
    for (const auto& member : members_)
      if (member->thread.joinable()) member->thread.join();
    if (!again_.empty()) do_the_rest();
    if (failure_) std::rethrow_exception(failure_);
    return tids_;
  }

 private:
  // Runs the remaining pieces if no thread could replace an abandoned one.
  void do_the_rest() {
    ++working_;
    be(*members_.emplace_back(std::make_unique<Member>()), 0);
  }

  // If RLIMIT_NPROC permits no more threads, the existing ones do all work, or the calling thread
  // does.
  bool start(unsigned worker) {
    Member& member = *members_[worker];
    {
      const std::lock_guard lock(mutex_);
      ++working_;
    }
    try {
      member.thread = sdk::WorkThread(
          [crew = shared_from_this(), &member, worker] { crew->be(member, worker); });
      return true;
    } catch (const std::system_error&) {
      is_alone() ? be(member, worker) : leave(member);
      return false;
    }
  }

  bool is_alone() {
    const std::lock_guard lock(mutex_);
    return working_ == 1;
  }

  void be(Member& member, unsigned worker) {
    const CLocale locale;
    t_trust = &member.trust;
    let_signal_in();
    { const PluginCall takes_a_slot(nullptr, ""); }
    member.call = current_call();
    member.tid = static_cast<std::uint64_t>(::gettid());
    try {
      for (std::size_t piece; take(worker, piece);) {
        member.piece = piece + 1;
        work_(worker, piece);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = end_;
      again_.clear();
    }
    t_trust = nullptr;
    leave(member);
  }

  void leave(Member& member) {
    const std::lock_guard lock(mutex_);
    if (member.tid != 0) tids_.push_back(member.tid);
    member.working = false;
    --working_;
    done_.notify_all();
  }

  bool take(unsigned worker, std::size_t& piece) {
    const std::lock_guard lock(mutex_);
    if (!again_.empty()) {
      piece = again_.front();
      again_.pop_front();
      return true;
    }
    if (next_ == end_) return false;
    piece = watch_.from_both_ends && worker % 2 == 1 ? --end_ : next_++;
    return true;
  }

  void look_after_all(std::unique_lock<std::mutex>& lock) {
    for (unsigned worker = 0; worker < members_.size(); ++worker) {
      Member& member = *members_[worker];
      if (!member.working || !member.thread.joinable() || made_progress(member)) continue;
      if (++member.idle_slices < kSlices) continue;
      const auto process = held_for_good(member);
      if (!process) continue;
      lock.unlock();
      replace(worker, *process);
      lock.lock();
    }
  }

  // Abandons the worker if it is still blocked after the signal is pending. Returns the process
  // that blocks it; nullopt if it is not abandoned.
  std::optional<std::uint64_t> held_for_good(Member& member) const {
    if (!held_up_by(member.tid, watch_.proc)) return std::nullopt;
    member.trust = Trust::Doubted;
    ::pthread_kill(member.thread.native_handle(), signal_to_stay_away());
    const auto process = held_up_by(member.tid, watch_.proc);
    Trust now = Trust::Doubted;
    const Trust then = process ? Trust::GivenUp : Trust::Works;
    return member.trust.compare_exchange_strong(now, then) ? process : std::nullopt;
  }

  static bool made_progress(Member& member) {
    const std::int64_t time = processor_time(member.thread);
    const bool same = member.piece == member.last_piece && time == member.last_time;
    member.last_piece = member.piece;
    member.last_time = time;
    if (!same) member.idle_slices = 0;
    return !same;
  }

  void replace(unsigned worker, std::uint64_t process) {
    Member& lost = *members_[worker].release();  // the blocked thread may still use it
    lost.thread.detach();
    if (CallSlot* call = lost.call) call->owner = nullptr;
    watch_.lost(worker, process);
    members_[worker] = std::make_unique<Member>();
    {
      const std::lock_guard lock(mutex_);
      again_.push_back(lost.piece - 1);
      tids_.push_back(lost.tid);
      --working_;
    }
    start(worker);
  }

  const std::function<void(unsigned, std::size_t)>& work_;
  const Watch& watch_;
  std::vector<std::unique_ptr<Member>> members_;  // used only by the watcher
  std::mutex mutex_;                              // protects the members below
  std::condition_variable done_;
  std::size_t next_ = 0;  // pieces from here to the end are not taken yet
  std::size_t end_;
  std::deque<std::size_t> again_;
  std::size_t working_ = 0;
  std::vector<std::uint64_t> tids_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<std::uint64_t> share_watched(unsigned workers, std::size_t pieces,
                                         const std::function<void(unsigned, std::size_t)>& work,
                                         const Watch& watch) {
  if (watch.proc < 0) return share(workers, pieces, work);
  if (pieces == 0) return {static_cast<std::uint64_t>(::gettid())};
  install_handler();
  workers = static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, workers));
  auto tids = std::make_shared<Crew>(pieces, work, watch)->run(workers);
  tids.insert(tids.begin(), static_cast<std::uint64_t>(::gettid()));
  return tids;
}

}  // namespace ctprof
