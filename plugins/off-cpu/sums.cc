#include "plugins/off-cpu/sums.hpp"

#include <algorithm>

namespace ctprof::off_cpu {
namespace {

// Completes the state up to the end of the window, as the programs do at the next event
// (thread.bpf.h).
void finish(const Span& span, off_thread& thread, bool all_waits, Happened& out) {
  if (thread.window != span.number) {  // no event occurred in the window
    out.sums = {};
    thread.uncharged = 0;
    thread.since = std::max<std::uint64_t>(thread.since, span.opened_ns);
    thread.away = std::max<std::uint64_t>(thread.away, span.opened_ns);
  }
  if (thread.since > span.ended_ns) out.sums.ns[OFF_RUNS] -= thread.since - span.ended_ns;
  out.going_on_ns = thread.state < OFF_KINDS ? thread.uncharged : 0;
  if (thread.state < OFF_STATES && thread.since < span.ended_ns) {
    const std::uint64_t length = span.ended_ns - thread.since;
    out.sums.ns[thread.state] += length;
    if (thread.state < OFF_KINDS) ++out.sums.counts[thread.state];
    if (thread.state <= OFF_BLOCKED || (all_waits && thread.state < OFF_KINDS))
      out.going_on_ns += length;
  }
  if (thread.state >= OFF_KINDS || thread.away >= span.ended_ns) return;
  const std::uint64_t away = span.ended_ns - thread.away;
  ++out.sums.waits;
  out.sums.longest = std::max<std::uint64_t>(out.sums.longest, away);
  if (out.sums.shortest == 0 || away < out.sums.shortest) out.sums.shortest = away;
}

}  // namespace

Happened happened_in(const Span& span, const off_thread& thread, bool all_waits) {
  Happened out;
  if (thread.born >= span.ended_ns || thread.window > span.number + 1) return out;
  out.wall_ns = span.ended_ns - std::max<std::uint64_t>(thread.born, span.opened_ns);
  out.sums = thread.sums[span.number & 1];
  off_thread copy = thread;
  if (thread.window <= span.number) finish(span, copy, all_waits, out);
  return out;
}

}  // namespace ctprof::off_cpu
