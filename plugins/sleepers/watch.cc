#include "plugins/sleepers/watch.hpp"

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

#include "plugins/shared/clock.hpp"

namespace ctprof::sleepers {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMostHalvings = 4;
// Timeout for the first pass of a window at the end of the window.
constexpr std::uint64_t kFirstPassNs = 4'000'000'000;
// Timeout at the end of a window for a pass that is running.
constexpr milliseconds kPassEnds{200};
constexpr std::size_t kMostKept = 2;
// Nice value of the thread that makes passes. Otherwise it would wait for other threads repeatedly:
// with 12 busy threads on two CPUs, a pass of 7 ms took longer than its period.
constexpr int kNice = -20;

// Starts a thread with all signals blocked, because other threads handle them.
template <class Work>
std::thread quiet_thread(Work work) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  return std::thread(std::move(work));
}

// Raises the priority of the calling thread only, as Linux implements it. Without CAP_SYS_NICE it
// has no effect.
void hurry() { ::setpriority(PRIO_PROCESS, 0, kNice); }

}  // namespace

std::uint64_t next_due(const Pace& pace, std::uint64_t began_ns, std::uint64_t cost_ns) {
  if (pace.budget_ppm == 0) return began_ns + pace.every_ns;
  const auto allowed = static_cast<double>(pace.budget_ppm) * pace.cpus / 1e6;  // of one CPU
  const auto dearest = static_cast<std::uint64_t>(static_cast<double>(cost_ns) / allowed);
  return began_ns + std::max(pace.every_ns, dearest);
}

struct Watch::Shared {
  Shared(std::unique_ptr<Looker> who, const Pace& how) : looker(std::move(who)), pace(how) {}

  // The function of the thread. It first finishes a pass that was taken over, if there is one.
  void run();
  bool make_pass(std::unique_lock<std::mutex>& lock);
  template <class Look>
  bool finish_pass(std::unique_lock<std::mutex>& lock, Look look);
  bool plan_another();
  std::unique_ptr<Pass> empty_pass();
  void wait_until(std::unique_lock<std::mutex>& lock, std::uint64_t due_ns);
  void plan_next();
  void count_spared(std::uint64_t until_ns);

  const std::unique_ptr<Looker> looker;
  const Pace pace;
  std::mutex mutex;  // protects the members below
  std::condition_variable changed;
  std::unique_ptr<Pass> current;  // the pass that is being made; owned by the thread during that
                                  // time
  std::deque<std::unique_ptr<Pass>> done;
  std::vector<std::unique_ptr<Pass>> kept;  // for later passes
  std::exception_ptr thrown;
  std::uint32_t round = 1;  // see Looker
  std::uint32_t window = 0;
  std::uint64_t began_ns = 0;    // start of the current pass, on CLOCK_MONOTONIC; 0: none
  std::uint64_t due_ns = 0;      // planned start of the next pass
  std::uint64_t counted_ns = 0;  // passes are accounted for up to this time
  Account account;
  std::uint64_t last_sleepers = 0;
  std::uint64_t last_cost_ns = 0;
  std::uint64_t handover_ns = 0;  // cost of the handover of the previous pass
  bool runs = true;
  bool ends = false;
};

std::unique_ptr<Pass> Watch::Shared::empty_pass() {
  if (kept.empty()) return std::make_unique<Pass>();
  std::unique_ptr<Pass> pass = std::move(kept.back());
  kept.pop_back();
  pass->clear();
  return pass;
}

bool Watch::Shared::make_pass(std::unique_lock<std::mutex>& lock) {
  current = empty_pass();
  current->window = window;
  const std::uint32_t this_round = round;
  current->at_ns = clock_ns(CLOCK_BOOTTIME);
  began_ns = clock_ns(CLOCK_MONOTONIC);
  return finish_pass(lock, [&] { looker->look(this_round, *current); });
}

// Returns false if the pass was taken over. Then this thread must exit, and holds no lock.
template <class Look>
bool Watch::Shared::finish_pass(std::unique_lock<std::mutex>& lock, Look look) {
  lock.unlock();
  const std::uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  std::exception_ptr failed;
  try {
    look();
  } catch (const LeftBehind&) {
    return false;
  } catch (...) {
    failed = std::current_exception();
  }
  const std::uint64_t cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
  lock.lock();
  std::unique_ptr<Pass> pass = std::move(current);
  pass->cpu_ns += cost_ns;
  began_ns = 0;
  thrown = failed;
  last_sleepers = pass->sleepers();
  last_cost_ns = pass->cpu_ns + handover_ns;
  ++account.made;
  done.push_back(std::move(pass));
  return true;
}

void Watch::Shared::wait_until(std::unique_lock<std::mutex>& lock, std::uint64_t due_ns) {
  for (std::uint64_t now; !ends && (now = clock_ns(CLOCK_MONOTONIC)) < due_ns;)
    changed.wait_for(lock, nanoseconds(due_ns - now));
}

// Counts the passes that were due before `until_ns` and were omitted.
void Watch::Shared::count_spared(std::uint64_t until_ns) {
  if (pace.once || until_ns <= counted_ns + pace.every_ns) return;
  const std::uint64_t spared = (until_ns - counted_ns - 1) / pace.every_ns;
  account.spared += spared;
  account.unseen += spared * last_sleepers;
  counted_ns += spared * pace.every_ns;
}

// Plans the next pass. If it is delayed by more than a period, the passes in between are omitted.
void Watch::Shared::plan_next() {
  counted_ns = due_ns;
  due_ns = next_due(pace, due_ns, last_cost_ns);
  if (const std::uint64_t now = clock_ns(CLOCK_MONOTONIC); now > due_ns)
    due_ns += (now - due_ns) / pace.every_ns * pace.every_ns;
}

// Returns false if there is no further pass.
bool Watch::Shared::plan_another() {
  changed.notify_all();
  if (!pace.once) plan_next();
  return !pace.once && !ends && !thrown;
}

void Watch::Shared::run() {
  hurry();
  std::unique_lock lock(mutex);
  bool goes_on = !ends;
  if (current) {
    if (!finish_pass(lock, [&] { looker->go_on(*current); })) return;
    goes_on = plan_another();
  } else {
    due_ns = clock_ns(CLOCK_MONOTONIC) + (pace.once ? 0 : pace.every_ns / 2);
    counted_ns = due_ns - pace.every_ns;
  }
  while (goes_on) {
    wait_until(lock, due_ns);
    if (ends) break;
    if (done.size() >= kMostWaiting) {
      due_ns += pace.every_ns;
      continue;
    }
    count_spared(due_ns);
    if (!make_pass(lock)) return;
    goes_on = plan_another();
  }
  runs = false;
  changed.notify_all();
}

Watch::Watch(MakeLooker make, const Pace& pace) : make_(std::move(make)), pace_(pace) {}

Watch::~Watch() { stop(); }

void Watch::begin() {
  shared_ = std::make_shared<Shared>(make_(), pace_);
  thread_ = quiet_thread([shared = shared_] { shared->run(); });
}

void Watch::leave() {
  if (!shared_ || !thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->ends = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, kPassEnds, [&] { return !shared_->runs; });
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
}

std::uint64_t Watch::patience_ns() const {
  return pace_.patience_ns >> std::min(avoided_.size(), kMostHalvings);
}

// REQUIRES: the mutex is locked.
bool Watch::is_held_up() const {
  const std::uint64_t since = std::max(shared_->began_ns, shared_->looker->reads_since_ns());
  return shared_->began_ns != 0 && clock_ns(CLOCK_MONOTONIC) - since >= patience_ns();
}

// Lets another thread continue if a process does not answer.
void Watch::look_after() {
  const std::lock_guard lock(shared_->mutex);
  const std::uint32_t from = shared_->looker->reads_from();
  if (from == 0 || !thread_.joinable() || !is_held_up()) return;
  if (!shared_->looker->take_over(from, *shared_->current)) return;  // the process has answered
  avoided_.insert(from);
  thread_.detach();
  thread_ = quiet_thread([shared = shared_] { shared->run(); });
}

std::unique_ptr<Pass> Watch::next() {
  const auto is_there = [&] { return !shared_->done.empty() || !shared_->runs; };
  for (;;) {
    look_after();
    std::unique_lock lock(shared_->mutex);
    if (pace_.once) shared_->changed.wait_for(lock, nanoseconds(patience_ns()), is_there);
    if (shared_->thrown) std::rethrow_exception(shared_->thrown);
    if (pace_.once && !is_there()) continue;
    if (shared_->done.empty()) return nullptr;
    std::unique_ptr<Pass> pass = std::move(shared_->done.front());
    shared_->done.pop_front();
    return pass;
  }
}

void Watch::give_back(std::unique_ptr<Pass> pass, std::uint64_t took_ns) {
  const std::lock_guard lock(shared_->mutex);
  shared_->handover_ns = took_ns;
  if (shared_->kept.size() < kMostKept) shared_->kept.push_back(std::move(pass));
}

std::uint32_t Watch::end_window() {
  const std::uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kFirstPassNs;
  std::unique_lock lock(shared_->mutex);
  const auto is_made = [&] { return shared_->began_ns == 0 && (!pace_.once || !shared_->runs); };
  const bool is_first = shared_->account.made == 0;
  while (!shared_->changed.wait_for(lock, kPassEnds, is_made) && is_first &&
         (pace_.once || shared_->looker->reads_from() != 0) &&
         clock_ns(CLOCK_MONOTONIC) < until_ns) {
    lock.unlock();
    look_after();
    lock.lock();
  }
  ++shared_->round;
  return ++shared_->window;
}

void Watch::stop() { leave(); }

Watch::Account Watch::take_account() {
  const std::lock_guard lock(shared_->mutex);
  shared_->count_spared(std::min(clock_ns(CLOCK_MONOTONIC), shared_->due_ns));
  return std::exchange(shared_->account, {});
}

}  // namespace ctprof::sleepers
