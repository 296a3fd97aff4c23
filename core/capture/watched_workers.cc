#include "core/capture/watched_workers.hpp"

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

#include "core/base/clock.hpp"
#include "core/base/workers.hpp"
#include "core/capture/blocking_processes.hpp"
#include "core/registry/plugin_call.hpp"
#include "ctprof/work_thread.hpp"

namespace ctprof {
namespace {

// The timeout is counted in slices, so that it does not expire when ctprof itself was stopped.
constexpr std::chrono::milliseconds kSlice{250};
constexpr int kSlices = kTimeoutSeconds * 1000 / static_cast<int>(kSlice.count());

// The state of a worker. A worker may return from the kernel while the watcher decides. Both try to
// change the state Suspected: the worker in its signal handler, and the watcher. The one that
// succeeds decides.
enum class WorkerState : int { Working, Suspected, Abandoned };

constinit thread_local std::atomic<WorkerState>* t_state = nullptr;

void block_if_abandoned(int) {
  WorkerState state = WorkerState::Suspected;
  if (!t_state || t_state->compare_exchange_strong(state, WorkerState::Working)) return;
  while (state == WorkerState::Abandoned) ::pause();
}

int abandon_signal() { return SIGRTMIN + 7; }

void install_handler() {
  struct sigaction action {};
  action.sa_handler = block_if_abandoned;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigaction(abandon_signal(), &action, nullptr);
}

void unblock_abandon_signal() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, abandon_signal());
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

struct Member {
  sdk::WorkThread thread;
  std::atomic<WorkerState> state{WorkerState::Working};
  std::atomic<std::uint64_t> tid{0};
  std::atomic<std::size_t> piece{0};
  std::atomic<CallSlot*> call{nullptr};
  bool is_working = true;
  // The last values that the watcher read.
  std::size_t last_piece = 0;
  std::int64_t last_cpu_ns = -1;
  int idle_slices = 0;
};

std::int64_t read_cpu_time_ns(const sdk::WorkThread& thread) {
  clockid_t clock;
  timespec time{};
  if (::pthread_getcpuclockid(thread.native_handle(), &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0)
    return -1;
  return static_cast<std::int64_t>(to_ns(time));
}

// Shared by all its threads, so that it outlives an abandoned one.
class WorkerGroup : public std::enable_shared_from_this<WorkerGroup> {
 public:
  WorkerGroup(std::size_t pieces, const std::function<void(unsigned, std::size_t)>& work,
              const WatchOptions& watch)
      : work_(work), watch_(watch), end_(pieces) {}

  std::vector<std::uint64_t> run(unsigned workers) {
    for (unsigned worker = 0; worker < workers; ++worker) {
      members_.push_back(std::make_unique<Member>());
      if (!start(worker)) break;
    }
    {
      std::unique_lock lock(mutex_);
      while (running_workers_ > 0)
        if (done_.wait_for(lock, kSlice) == std::cv_status::timeout) check_workers(lock);
    }
    for (const auto& member : members_)
      if (member->thread.joinable()) member->thread.join();
    if (!repeated_pieces_.empty()) run_remaining();
    if (failure_) std::rethrow_exception(failure_);
    return tids_;
  }

 private:
  // Runs the remaining pieces if no thread could replace an abandoned one.
  void run_remaining() {
    ++running_workers_;
    run_worker(*members_.emplace_back(std::make_unique<Member>()), 0);
  }

  // If RLIMIT_NPROC permits no more threads, the existing ones do all work, or the calling thread
  // does.
  bool start(unsigned worker) {
    Member& member = *members_[worker];
    {
      const std::lock_guard lock(mutex_);
      ++running_workers_;
    }
    try {
      member.thread = sdk::WorkThread(
          [crew = shared_from_this(), &member, worker] { crew->run_worker(member, worker); });
      return true;
    } catch (const std::system_error&) {
      is_last_worker() ? run_worker(member, worker) : finish_worker(member);
      return false;
    }
  }

  bool is_last_worker() {
    const std::lock_guard lock(mutex_);
    return running_workers_ == 1;
  }

  void run_worker(Member& member, unsigned worker) {
    const CLocale locale;
    t_state = &member.state;
    unblock_abandon_signal();
    { const PluginCall call_slot(nullptr, ""); }
    member.call = current_call();
    member.tid = static_cast<std::uint64_t>(::gettid());
    try {
      for (std::size_t piece; take_piece(worker, piece);) {
        member.piece = piece + 1;
        work_(worker, piece);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = end_;
      repeated_pieces_.clear();
    }
    t_state = nullptr;
    finish_worker(member);
  }

  void finish_worker(Member& member) {
    const std::lock_guard lock(mutex_);
    if (member.tid != 0) tids_.push_back(member.tid);
    member.is_working = false;
    --running_workers_;
    done_.notify_all();
  }

  bool take_piece(unsigned worker, std::size_t& piece) {
    const std::lock_guard lock(mutex_);
    if (!repeated_pieces_.empty()) {
      piece = repeated_pieces_.front();
      repeated_pieces_.pop_front();
      return true;
    }
    if (next_ == end_) return false;
    piece = watch_.from_both_ends && worker % 2 == 1 ? --end_ : next_++;
    return true;
  }

  void check_workers(std::unique_lock<std::mutex>& lock) {
    for (unsigned worker = 0; worker < members_.size(); ++worker) {
      Member& member = *members_[worker];
      if (!member.is_working || !member.thread.joinable() || has_made_progress(member)) continue;
      if (++member.idle_slices < kSlices) continue;
      const auto process = abandon_if_blocked(member);
      if (!process) continue;
      lock.unlock();
      replace(worker, *process);
      lock.lock();
    }
  }

  // Abandons the worker if it is still blocked after the signal is pending. Returns the process
  // that blocks it; nullopt if it is not abandoned.
  std::optional<std::uint64_t> abandon_if_blocked(Member& member) const {
    if (!find_blocking_process(member.tid, watch_.proc)) return std::nullopt;
    member.state = WorkerState::Suspected;
    ::pthread_kill(member.thread.native_handle(), abandon_signal());
    const auto process = find_blocking_process(member.tid, watch_.proc);
    WorkerState state = WorkerState::Suspected;
    const WorkerState next_state = process ? WorkerState::Abandoned : WorkerState::Working;
    return member.state.compare_exchange_strong(state, next_state) ? process : std::nullopt;
  }

  static bool has_made_progress(Member& member) {
    const std::int64_t time = read_cpu_time_ns(member.thread);
    const bool is_unchanged = member.piece == member.last_piece && time == member.last_cpu_ns;
    member.last_piece = member.piece;
    member.last_cpu_ns = time;
    if (!is_unchanged) member.idle_slices = 0;
    return !is_unchanged;
  }

  void replace(unsigned worker, std::uint64_t process) {
    Member& old_worker = *members_[worker].release();  // the blocked thread may still use it
    old_worker.thread.detach();
    if (CallSlot* call = old_worker.call) call->owner = nullptr;
    watch_.replace_worker(worker, process);
    members_[worker] = std::make_unique<Member>();
    {
      const std::lock_guard lock(mutex_);
      repeated_pieces_.push_back(old_worker.piece - 1);
      tids_.push_back(old_worker.tid);
      --running_workers_;
    }
    start(worker);
  }

  const std::function<void(unsigned, std::size_t)>& work_;
  const WatchOptions& watch_;
  std::vector<std::unique_ptr<Member>> members_;  // used only by the watcher
  std::mutex mutex_;                              // protects the members below
  std::condition_variable done_;
  std::size_t next_ = 0;  // pieces from here to the end are not taken yet
  std::size_t end_;
  std::deque<std::size_t> repeated_pieces_;
  std::size_t running_workers_ = 0;
  std::vector<std::uint64_t> tids_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<std::uint64_t> share_watched_work(
    unsigned workers, std::size_t pieces, const std::function<void(unsigned, std::size_t)>& work,
    const WatchOptions& watch) {
  if (watch.proc < 0) return share_work(workers, pieces, work);
  if (pieces == 0) return {static_cast<std::uint64_t>(::gettid())};
  install_handler();
  workers = static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, workers));
  auto tids = std::make_shared<WorkerGroup>(pieces, work, watch)->run(workers);
  tids.insert(tids.begin(), static_cast<std::uint64_t>(::gettid()));
  return tids;
}

}  // namespace ctprof
