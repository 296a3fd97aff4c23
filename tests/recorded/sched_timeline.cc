#include "tests/recorded/sched_timeline.hpp"

#include <algorithm>
#include <iterator>

namespace ctprof::recorded {
namespace {

constexpr std::uint32_t kUninterruptible = 2, kDead = 0x80, kNoLoad = 0x400;
constexpr std::uint64_t kMaxTurnDelayNs = 1'000'000;  // a run may end this much after its switch

bool is_sleeping(std::uint32_t state) { return state == OFF_SLEEPING || state == OFF_BLOCKED; }
bool is_waiting(std::uint32_t state) { return state < OFF_WAIT_STATES; }

// Follows one thread, event by event.
class ThreadTimeline {
 public:
  ThreadTimeline(std::uint32_t state, std::uint64_t since)
      : state_(state), since_(since), off_cpu_since_(since) {}

  void start(std::uint64_t now) {
    line_.started_ns = since_ = off_cpu_since_ = now;
    enter(OFF_QUEUED, now);
  }
  void wake_up(std::uint64_t now) {
    if (is_sleeping(state_) || state_ == OFF_UNKNOWN) enter(OFF_QUEUED, now);
  }
  void start_run(const sched_task& task, std::uint64_t now) {
    line_.unseen_events += is_sleeping(state_) || state_ == OFF_RUNNING;
    // The thread was woken up without an event. The scheduler knows how long it has been in the run
    // queue.
    const std::uint64_t queued = task.queue_clock - task.last_queued;
    if (is_sleeping(state_) && task.last_queued != 0 && task.queue_clock > task.last_queued &&
        queued <= now - since_)
      enter(OFF_QUEUED, now - queued);
    enter(OFF_RUNNING, now);
    run_start_ = since_;
    ran_ = task.ran;
  }
  // A run is as long as the scheduler's sum_exec_runtime says.
  void end_run(const sched_event& event) {
    std::uint64_t now = event.at;
    const std::uint64_t ran = event.previous.ran - ran_;
    if (is_waiting(state_)) {                              // it got a CPU without an event
      line_.unseen_events += is_sleeping(state_) ? 2 : 1;  // and was woken up without an event
      const std::uint64_t arrived = ran < now - since_ ? now - ran : since_;
      enter(OFF_RUNNING, arrived);
    } else if (state_ == OFF_RUNNING && run_start_ != 0 &&
               run_start_ + ran <= now + kMaxTurnDelayNs) {
      now = std::max(run_start_ + ran, since_);
    }
    ran_ = event.previous.ran;
    enter(next_state(event), now);
    if (state_ == OFF_EXITED) line_.ended_ns = since_;
  }
  // The last state is a span without end.
  Timeline finish() {
    if (state_ != OFF_EXITED) {
      line_.spans.push_back({state_, since_, UINT64_MAX});
      if (is_waiting(state_)) line_.off_cpu_spans.emplace_back(off_cpu_since_, UINT64_MAX);
    }
    return std::move(line_);
  }

 private:
  static std::uint32_t next_state(const sched_event& event) {
    const std::uint32_t bits = event.previous.state == 0 ? 0 : event.why;
    if ((bits & kDead) != 0) return OFF_EXITED;
    if (event.is_preempted != 0 || bits == 0) return OFF_PREEMPTED;
    return (bits & kUninterruptible) != 0 && (bits & kNoLoad) == 0 ? OFF_BLOCKED : OFF_SLEEPING;
  }
  void enter(std::uint32_t state, std::uint64_t now) {
    now = std::max(now, since_);  // clocks of two CPUs may differ
    if (state_ <= OFF_RUNNING) line_.spans.push_back({state_, since_, now});
    if (!is_waiting(state_) && is_waiting(state)) off_cpu_since_ = now;
    if (is_waiting(state_) && !is_waiting(state))
      line_.off_cpu_spans.emplace_back(off_cpu_since_, now);
    state_ = state;
    since_ = now;
  }

  Timeline line_;
  std::uint32_t state_;
  std::uint64_t since_, off_cpu_since_;
  std::uint64_t run_start_ = 0, ran_ = 0;
};

class Builder {
 public:
  explicit Builder(std::uint64_t since) : since_(since) {}

  void add(const sched_event& event) {
    switch (event.kind) {
      case SCHED_SWITCH:
        if (event.previous.tid != 0) thread_of(event.previous, OFF_RUNNING).end_run(event);
        if (event.next.tid != 0) thread_of(event.next, OFF_QUEUED).start_run(event.next, event.at);
        return;
      case SCHED_WAKEUP: return thread_of(event.next, OFF_SLEEPING).wake_up(event.at);
      case SCHED_BIRTH:
        origins_.insert_or_assign(event.next.tid,
                                  Origin(event.next.start_boottime, event.next.tid));
        return thread_of(event.next, OFF_UNKNOWN).start(event.at);
      case SCHED_EXEC: return rename(event);
      default: return;
    }
  }
  Timelines finish() {
    Timelines made;
    for (auto& [origin, thread] : threads_) {
      Timeline& line = made.emplace(origin, thread.finish()).first->second;
      line.ids.emplace_back(origin.second, origin.first);
      if (const auto renamed = renamed_.find(origin); renamed != renamed_.end())
        line.ids.push_back(renamed->second);
    }
    return made;
  }

 private:
  using Origin = std::pair<std::uint64_t, std::uint32_t>;

  // Returns the thread that has this id now.
  ThreadTimeline& thread_of(const sched_task& task, std::uint32_t state) {
    const Origin origin =
        origins_.try_emplace(task.tid, task.start_boottime, task.tid).first->second;
    return threads_.try_emplace(origin, state, since_).first->second;
  }
  // If another thread than the leader calls exec, they swap ids, and the leader exits.
  void rename(const sched_event& event) {
    if (event.why == event.next.tid) return;
    std::swap(origins_.at(event.next.tid), origins_.at(event.why));
    renamed_[origins_.at(event.next.tid)] = {event.next.tid, event.next.start_boottime};
  }

  std::uint64_t since_;
  std::map<std::uint32_t, Origin> origins_;  // by tid
  std::map<Origin, ThreadTimeline> threads_;
  std::map<Origin, std::pair<std::uint32_t, std::uint64_t>> renamed_;
};

// Follows each thread, and adds the missing events.
class EventRepair {
 public:
  explicit EventRepair(const std::vector<const sched_event*>& events) {
    for (const sched_event* event : events) sorted_.push_back(*event);
    std::ranges::stable_sort(sorted_, {}, &sched_event::at);
  }
  std::vector<sched_event> finish() {
    for (const sched_event& event : sorted_) {
      if (event.kind == SCHED_EXEC && event.why != event.next.tid)
        std::swap(known_[event.why], known_[event.next.tid]);
      if (event.kind == SCHED_SWITCH && event.previous.tid != 0) end_run(event);
      if (event.kind == SCHED_SWITCH && event.next.tid != 0) start_run(event);
      if (event.kind == SCHED_WAKEUP && known_[event.next.tid].activity == Activity::Sleeps)
        known_[event.next.tid].activity = Activity::Waits;
      if (event.kind == SCHED_BIRTH)
        known_[event.next.tid] = {Activity::Waits, event.at, event.next.ran};
      made_.push_back(event);
    }
    return std::move(made_);
  }

 private:
  enum class Activity { Sleeps, Waits, Runs };
  struct KnownState {
    Activity activity = Activity::Sleeps;
    std::uint64_t since = 0, ran = 0;
  };

  void end_run(const sched_event& event) {
    KnownState& known_state = known_[event.previous.tid];
    if (known_state.activity != Activity::Runs && known_state.since != 0) {
      const std::uint64_t ran = event.previous.ran - known_state.ran;
      sched_event arrival{};
      arrival.kind = SCHED_SWITCH;
      arrival.cpu = event.cpu;
      arrival.at = ran < event.at - known_state.since ? event.at - ran : known_state.since;
      arrival.next = event.previous;
      arrival.next.ran = known_state.ran;
      arrival.next.state = 0;
      if (known_state.activity == Activity::Sleeps)
        insert(wakeup(arrival.next, arrival.cpu, arrival.at));
      insert(arrival);
    }
    const bool sleeps = event.is_preempted == 0 && event.previous.state != 0 && event.why != 0;
    known_state = {sleeps ? Activity::Sleeps : Activity::Waits, event.at, event.previous.ran};
  }
  void start_run(const sched_event& event) {
    KnownState& known_state = known_[event.next.tid];
    const std::uint64_t queued = event.next.queue_clock - event.next.last_queued;
    const bool is_known = event.next.last_queued != 0 && queued <= event.at - known_state.since;
    if (known_state.activity == Activity::Sleeps && known_state.since != 0)
      insert(wakeup(event.next, event.cpu, is_known ? event.at - queued : event.at));
    known_state = {Activity::Runs, event.at, event.next.ran};
  }
  static sched_event wakeup(const sched_task& task, std::uint32_t cpu, std::uint64_t at) {
    sched_event event{};
    event.kind = SCHED_WAKEUP;
    event.cpu = cpu;
    event.at = at;
    event.next = task;
    return event;
  }
  // Inserts the event after all earlier events.
  void insert(const sched_event& event) {
    auto at = made_.end();
    while (at != made_.begin() && std::prev(at)->at > event.at) --at;
    made_.insert(at, event);
  }

  std::vector<sched_event> sorted_, made_;
  std::map<std::uint32_t, KnownState> known_;
};

}  // namespace

std::vector<sched_event> with_unseen_events(const std::vector<const sched_event*>& events) {
  return EventRepair(events).finish();
}

TimelineFigures figures_between(const Timeline& line, std::uint64_t opened, std::uint64_t ended) {
  TimelineFigures out;
  out.until = std::min(ended, line.ended_ns);
  const std::uint64_t begin = std::max(opened, line.started_ns);
  if (begin >= ended || line.ended_ns < opened) return out;
  out.wall = out.until - begin;
  for (const StateSpan& span : line.spans) {
    const std::uint64_t from = std::max(span.from, opened), to = std::min(span.to, ended);
    const bool is_instant = from == span.to && span.to < ended;  // a state of length zero counts
    if (from < to) out.ns[span.state] += to - from;
    if (is_waiting(span.state)) out.counts[span.state] += from < to || is_instant;
  }
  for (const auto& [left, back] : line.off_cpu_spans) {
    const std::uint64_t from = std::max(left, opened), to = std::min(back, ended);
    if (from > to || from >= ended) continue;
    ++out.waits;
    out.longest = std::max(out.longest, to - from);
    out.shortest = out.shortest == 0 ? to - from : std::min(out.shortest, to - from);
  }
  return out;
}

Timelines timelines_of(const std::vector<const sched_event*>& events, std::uint64_t since) {
  Builder builder(since);
  for (const sched_event* event : events) builder.add(*event);
  return builder.finish();
}

}  // namespace ctprof::recorded
