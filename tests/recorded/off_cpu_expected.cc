#include "tests/recorded/off_cpu_expected.hpp"

#include <algorithm>

#include "tests/recorded/off_cpu_trace.hpp"

namespace ctprof::recorded {
namespace {

using namespace off_cpu_trace;

Origin origin_of(const off_origin& origin) { return {origin.start_boottime, origin.tid}; }

// Returns the time that an interval and the window share.
std::uint64_t overlap(std::uint64_t from, std::uint64_t to, const ExpectedWindow& window) {
  from = std::max(from, window.opened);
  to = std::min(to, window.ended);
  return to > from ? to - from : 0;
}

// Adds the state in progress. `until` is the last time at which the thread was in this state.
void add_open_state(const ExpectedWindow& window, const off_thread& thread, std::uint64_t until,
                    bool all_waits, ExpectedThread& out) {
  if (thread.state_start > until) out.ns[OFF_RUNNING] -= thread.state_start - until;
  if (thread.state >= OFF_STATES) return;
  const std::uint64_t length = overlap(thread.state_start, until, window);
  out.ns[thread.state] += length;
  if (thread.state == OFF_RUNNING) return;
  out.counts[thread.state] += length > 0;
  if (thread.state <= OFF_BLOCKED || all_waits) out.open_wait += length;
  const bool spans_window = thread.window != window.number;
  out.open_wait += spans_window ? 0 : thread.current_wait;
  const std::uint64_t away = overlap(thread.departure, until, window);
  if (away == 0) return;
  ++out.waits;
  out.longest = std::max(out.longest, away);
  out.shortest = out.shortest == 0 ? away : std::min(out.shortest, away);
}

ExpectedThread compute_thread(const ExpectedWindow& window, const off_identity& identity,
                              const off_thread& thread, std::uint64_t until, bool all_waits) {
  ExpectedThread out;
  out.identity = identity;
  out.until = until;
  out.wall = until - std::max<std::uint64_t>(window.opened, thread.created);
  if (thread.window >= window.number) {
    const off_sums& sums = thread.sums[window.number % 2];
    std::copy_n(sums.ns, OFF_STATES, out.ns.begin());
    std::copy_n(sums.counts, OFF_WAIT_STATES, out.counts.begin());
    out.waits = sums.waits;
    out.longest = sums.longest;
    out.shortest = sums.shortest;
    out.unseen_events = sums.unexpected_events;
  }
  if (thread.window <= window.number) add_open_state(window, thread, until, all_waits, out);
  return out;
}

class Builder {
 public:
  explicit Builder(bool all_waits) : all_waits_(all_waits) {}

  void open_window(const WindowEdge& edge) {
    if (!windows_.empty()) windows_.back().ended = edge.ns;
    windows_.push_back({.number = edge.number, .opened = edge.ns});
  }
  // Adds to the window before the one that was opened last.
  void add_snapshot(const off_snapshot& snapshot) {
    ExpectedWindow& window = windows_[windows_.size() - 2];
    const off_thread& thread = snapshot.thread;
    if (thread.created >= window.ended || thread.window > window.number + 1) return;
    ExpectedThread made =
        compute_thread(window, snapshot.identity, thread, window.ended, all_waits_);
    made.place = snapshot.place;
    window.threads.try_emplace(origin_of(thread.origin), made);
  }
  // Threads exit in their last window. They may have existed at the end of the previous window,
  // although they had exited when all threads were read.
  void add_end(const off_exit& end) { ends_.push_back(&end); }
  void add_stack(const off_stack& stack) { stacks_.push_back(&stack); }

  std::vector<ExpectedWindow> finish() {
    windows_.pop_back();  // the last window is not complete
    for (ExpectedWindow& window : windows_) {
      for (const off_exit* end : ends_) finish_thread(window, *end);
      for (const off_stack* stack : stacks_)
        if (stack->window == window.number) {
          window.stacks.push_back(stack);
          window.threads.at(origin_of(stack->origin)).stack_weight += stack->weight;
        }
    }
    return std::move(windows_);
  }

 private:
  void finish_thread(ExpectedWindow& window, const off_exit& end) const {
    const off_thread& thread = end.thread;
    off_identity identity = end.identity;
    if (thread.origin.tid == identity.tgid) identity.tid = identity.tgid;
    const bool ended_inside = end.at < window.ended && thread.window == window.number;
    const bool ended_in_next = thread.window == window.number + 1 && thread.created < window.ended;
    if (!ended_inside && !ended_in_next) return;
    window.threads.try_emplace(
        origin_of(thread.origin),
        compute_thread(window, identity, thread, ended_inside ? end.at : window.ended, all_waits_));
  }

  bool all_waits_;
  std::vector<ExpectedWindow> windows_;
  std::vector<const off_exit*> ends_;
  std::vector<const off_stack*> stacks_;
};

void add_record(Builder& builder, const Frame& call, const Frame& record) {
  if (call.kind == kPass && call.as<std::uint32_t>() == OFF_COLLECT)
    builder.add_snapshot(record.as<off_snapshot>());
  if (call.kind == kReadStacks)
    builder.add_stack(*reinterpret_cast<const off_stack*>(record.bytes.data()));
  if (call.kind == kReadOthers &&
      *reinterpret_cast<const std::uint32_t*>(record.bytes.data()) == OFF_EXIT)
    builder.add_end(record.as<off_exit>());
}

}  // namespace

std::vector<ExpectedWindow> compute_windows(const Trace& trace) {
  Builder builder(trace.number("all_waits") != 0);
  const Frame* call = nullptr;
  for (const Frame& frame : trace.frames()) {
    if (frame.kind == kOpenWindow) builder.open_window(frame.as<WindowEdge>());
    if (frame.kind == kRecord && call != nullptr) add_record(builder, *call, frame);
    if (frame.kind != kRecord) call = &frame;
  }
  return builder.finish();
}

}  // namespace ctprof::recorded
