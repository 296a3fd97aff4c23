#include "plugins/sleepers/pass_thread.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"

namespace ctprof::sleepers {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMaxHalvings = 4;
// Timeout for the first pass of a window at the end of the window.
constexpr std::uint64_t kFirstPassTimeoutNs = 4'000'000'000;
// Timeout at the end of a window for a pass that is running.
constexpr milliseconds kPassEndTimeout{200};
constexpr std::size_t kMaxUnusedPasses = 2;
// Nice value of the thread that makes passes. Otherwise it would wait for other threads repeatedly:
// with 12 busy threads on two CPUs, a pass of 7 ms took longer than its period.
constexpr int kPassThreadNice = -20;

// Starts a thread with all signals blocked, because other threads handle them.
template <class Work>
std::thread start_thread_without_signals(Work work) {
  sigset_t all, old_mask;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old_mask);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{old_mask};
  return std::thread(std::move(work));
}

// Raises the priority of the calling thread only, as Linux implements it. Without CAP_SYS_NICE it
// has no effect.
void raise_priority() { ::setpriority(PRIO_PROCESS, 0, kPassThreadNice); }

}  // namespace

std::uint64_t compute_next_due(const PassSchedule& schedule, std::uint64_t began_ns,
                               std::uint64_t cost_ns) {
  if (schedule.budget_ppm == 0) return began_ns + schedule.period_ns;
  // In units of one CPU's time.
  const auto allowed_cpus = static_cast<double>(schedule.budget_ppm) * schedule.cpus / 1e6;
  const auto budget_interval_ns =
      static_cast<std::uint64_t>(static_cast<double>(cost_ns) / allowed_cpus);
  return began_ns + std::max(schedule.period_ns, budget_interval_ns);
}

struct PassThread::SharedState {
  SharedState(std::unique_ptr<Sampler> pass_sampler, const PassSchedule& pass_schedule)
      : sampler(std::move(pass_sampler)), schedule(pass_schedule) {}

  // The function of the thread. It first finishes a pass that was taken over, if there is one.
  void run();
  bool make_pass(std::unique_lock<std::mutex>& lock);
  template <class ReadOperation>
  bool finish_pass(std::unique_lock<std::mutex>& lock, ReadOperation read);
  bool plan_following_pass();
  std::unique_ptr<Pass> empty_pass();
  void wait_until(std::unique_lock<std::mutex>& lock, std::uint64_t due_ns);
  void plan_next();
  void count_omitted(std::uint64_t until_ns);

  const std::unique_ptr<Sampler> sampler;
  const PassSchedule schedule;
  std::mutex mutex;  // protects the members below
  std::condition_variable changed;
  std::unique_ptr<Pass> current;  // the pass that is being made; owned by the thread during that
                                  // time
  std::deque<std::unique_ptr<Pass>> finished_passes;
  std::vector<std::unique_ptr<Pass>> unused_passes;  // for later passes
  std::exception_ptr exception;
  std::uint32_t round = 1;  // see Sampler
  std::uint32_t window = 0;
  std::uint64_t began_ns = 0;            // start of the current pass, on CLOCK_MONOTONIC; 0: none
  std::uint64_t due_ns = 0;              // planned start of the next pass
  std::uint64_t accounted_until_ns = 0;  // passes are accounted for up to this time
  PassCounts account;
  std::uint64_t last_sleepers = 0;
  std::uint64_t last_cost_ns = 0;
  std::uint64_t handover_ns = 0;  // cost of the handover of the previous pass
  bool is_running = true;
  bool is_stopping = false;
};

std::unique_ptr<Pass> PassThread::SharedState::empty_pass() {
  if (unused_passes.empty()) return std::make_unique<Pass>();
  std::unique_ptr<Pass> pass = std::move(unused_passes.back());
  unused_passes.pop_back();
  pass->clear();
  return pass;
}

bool PassThread::SharedState::make_pass(std::unique_lock<std::mutex>& lock) {
  current = empty_pass();
  current->window = window;
  const std::uint32_t this_round = round;
  current->at_ns = clock_ns(CLOCK_BOOTTIME);
  began_ns = clock_ns(CLOCK_MONOTONIC);
  return finish_pass(lock, [&] { sampler->sample(this_round, *current); });
}

// Returns false if the pass was taken over. Then this thread must exit, and holds no lock.
template <class ReadOperation>
bool PassThread::SharedState::finish_pass(std::unique_lock<std::mutex>& lock, ReadOperation read) {
  lock.unlock();
  const std::uint64_t cpu_ns_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  std::exception_ptr pass_exception;
  try {
    read();
  } catch (const AbandonedPass&) {
    return false;
  } catch (...) {
    pass_exception = std::current_exception();
  }
  const std::uint64_t cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns_before;
  lock.lock();
  std::unique_ptr<Pass> pass = std::move(current);
  pass->cpu_ns += cost_ns;
  began_ns = 0;
  exception = pass_exception;
  last_sleepers = pass->sleepers();
  last_cost_ns = pass->cpu_ns + handover_ns;
  ++account.completed;
  finished_passes.push_back(std::move(pass));
  return true;
}

void PassThread::SharedState::wait_until(std::unique_lock<std::mutex>& lock, std::uint64_t due_ns) {
  for (std::uint64_t now; !is_stopping && (now = clock_ns(CLOCK_MONOTONIC)) < due_ns;)
    changed.wait_for(lock, nanoseconds(due_ns - now));
}

// Counts the passes that were due before `until_ns` and were omitted.
void PassThread::SharedState::count_omitted(std::uint64_t until_ns) {
  if (schedule.is_single_pass || until_ns <= accounted_until_ns + schedule.period_ns) return;
  const std::uint64_t omitted_count = (until_ns - accounted_until_ns - 1) / schedule.period_ns;
  account.omitted += omitted_count;
  account.unsampled += omitted_count * last_sleepers;
  accounted_until_ns += omitted_count * schedule.period_ns;
}

// Plans the next pass. If it is delayed by more than a period, the passes in between are omitted.
void PassThread::SharedState::plan_next() {
  accounted_until_ns = due_ns;
  due_ns = compute_next_due(schedule, due_ns, last_cost_ns);
  if (const std::uint64_t now = clock_ns(CLOCK_MONOTONIC); now > due_ns)
    due_ns += (now - due_ns) / schedule.period_ns * schedule.period_ns;
}

// Returns false if there is no further pass.
bool PassThread::SharedState::plan_following_pass() {
  changed.notify_all();
  if (!schedule.is_single_pass) plan_next();
  return !schedule.is_single_pass && !is_stopping && !exception;
}

void PassThread::SharedState::run() {
  raise_priority();
  std::unique_lock lock(mutex);
  bool has_next_pass = !is_stopping;
  if (current) {
    if (!finish_pass(lock, [&] { sampler->resume(*current); })) return;
    has_next_pass = plan_following_pass();
  } else {
    due_ns = clock_ns(CLOCK_MONOTONIC) + (schedule.is_single_pass ? 0 : schedule.period_ns / 2);
    accounted_until_ns = due_ns - schedule.period_ns;
  }
  while (has_next_pass) {
    wait_until(lock, due_ns);
    if (is_stopping) break;
    if (finished_passes.size() >= kMaxPendingPasses) {
      due_ns += schedule.period_ns;
      continue;
    }
    count_omitted(due_ns);
    if (!make_pass(lock)) return;
    has_next_pass = plan_following_pass();
  }
  is_running = false;
  changed.notify_all();
}

PassThread::PassThread(SamplerFactory make, const PassSchedule& schedule)
    : make_sampler_(std::move(make)), schedule_(schedule) {}

PassThread::~PassThread() { stop(); }

void PassThread::begin() {
  shared_state_ = std::make_shared<SharedState>(make_sampler_(), schedule_);
  thread_ = start_thread_without_signals([shared = shared_state_] { shared->run(); });
}

void PassThread::stop_thread() {
  if (!shared_state_ || !thread_.joinable()) return;
  std::unique_lock lock(shared_state_->mutex);
  shared_state_->is_stopping = true;
  shared_state_->changed.notify_all();
  const bool has_ended = shared_state_->changed.wait_for(
      lock, kPassEndTimeout, [&] { return !shared_state_->is_running; });
  lock.unlock();
  has_ended ? thread_.join() : thread_.detach();
}

std::uint64_t PassThread::current_timeout_ns() const {
  return schedule_.read_timeout_ns >> std::min(avoided_processes_.size(), kMaxHalvings);
}

// REQUIRES: the mutex is locked.
bool PassThread::is_read_blocked() const {
  const std::uint64_t since =
      std::max(shared_state_->began_ns, shared_state_->sampler->read_start_ns());
  return shared_state_->began_ns != 0 && clock_ns(CLOCK_MONOTONIC) - since >= current_timeout_ns();
}

// Lets another thread continue if a process does not answer.
void PassThread::replace_blocked_thread() {
  const std::lock_guard lock(shared_state_->mutex);
  const std::uint32_t blocked_process = shared_state_->sampler->current_process();
  if (blocked_process == 0 || !thread_.joinable() || !is_read_blocked()) return;
  if (!shared_state_->sampler->take_over(blocked_process, *shared_state_->current))
    return;  // the process has answered
  avoided_processes_.insert(blocked_process);
  thread_.detach();
  thread_ = start_thread_without_signals([shared = shared_state_] { shared->run(); });
}

std::unique_ptr<Pass> PassThread::next_pass() {
  const auto has_pass = [&] {
    return !shared_state_->finished_passes.empty() || !shared_state_->is_running;
  };
  for (;;) {
    replace_blocked_thread();
    std::unique_lock lock(shared_state_->mutex);
    if (schedule_.is_single_pass)
      shared_state_->changed.wait_for(lock, nanoseconds(current_timeout_ns()), has_pass);
    if (shared_state_->exception) std::rethrow_exception(shared_state_->exception);
    if (schedule_.is_single_pass && !has_pass()) continue;
    if (shared_state_->finished_passes.empty()) return nullptr;
    std::unique_ptr<Pass> pass = std::move(shared_state_->finished_passes.front());
    shared_state_->finished_passes.pop_front();
    return pass;
  }
}

void PassThread::return_pass(std::unique_ptr<Pass> pass, std::uint64_t handover_duration_ns) {
  const std::lock_guard lock(shared_state_->mutex);
  shared_state_->handover_ns = handover_duration_ns;
  if (shared_state_->unused_passes.size() < kMaxUnusedPasses)
    shared_state_->unused_passes.push_back(std::move(pass));
}

std::uint32_t PassThread::end_window() {
  const std::uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kFirstPassTimeoutNs;
  std::unique_lock lock(shared_state_->mutex);
  const auto is_done = [&] {
    return shared_state_->began_ns == 0 &&
           (!schedule_.is_single_pass || !shared_state_->is_running);
  };
  const bool is_first = shared_state_->account.completed == 0;
  while (!shared_state_->changed.wait_for(lock, kPassEndTimeout, is_done) && is_first &&
         (schedule_.is_single_pass || shared_state_->sampler->current_process() != 0) &&
         clock_ns(CLOCK_MONOTONIC) < until_ns) {
    lock.unlock();
    replace_blocked_thread();
    lock.lock();
  }
  ++shared_state_->round;
  return ++shared_state_->window;
}

void PassThread::stop() { stop_thread(); }

PassThread::PassCounts PassThread::take_counts() {
  const std::lock_guard lock(shared_state_->mutex);
  shared_state_->count_omitted(std::min(clock_ns(CLOCK_MONOTONIC), shared_state_->due_ns));
  return std::exchange(shared_state_->account, {});
}

}  // namespace ctprof::sleepers
