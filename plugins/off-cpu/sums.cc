#include "plugins/off-cpu/sums.hpp"

#include <algorithm>

#include "ctprof/abi.h"

namespace ctprof::off_cpu {
namespace {

// Counts one time, as the programs do (thread.bpf.h). A running thread counts, too.
void count_time(off_histograms& histograms, std::uint32_t state, std::uint64_t length) {
  const std::uint32_t kind = state <= OFF_BLOCKED      ? OFF_BLOCKED_WAITS
                             : state < OFF_WAIT_STATES ? OFF_CPU_WAITS
                                                       : OFF_SLICES;
  const std::uint32_t bucket = std::clamp<std::uint32_t>(
      ctprof_histogram_bucket(length), OFF_FIRST_BUCKET, OFF_FIRST_BUCKET + OFF_BUCKETS - 1);
  ++histograms.counts[kind * OFF_BUCKETS + bucket - OFF_FIRST_BUCKET];
}

// Completes the state up to the end of the window, as the programs do at the next event
// (thread.bpf.h).
void complete_window(const WindowSpan& span, off_thread& thread, bool all_waits, WindowSums& out) {
  if (thread.window != span.number) {  // no event occurred in the window
    out.sums = {};
    if (out.histograms) out.histograms = off_histograms{};
    thread.current_wait = 0;
    thread.state_start = std::max<std::uint64_t>(thread.state_start, span.opened_ns);
    thread.departure = std::max<std::uint64_t>(thread.departure, span.opened_ns);
  }
  if (thread.state_start > span.ended_ns)
    out.sums.ns[OFF_RUNNING] -= thread.state_start - span.ended_ns;
  out.unfinished_wait_ns = thread.state < OFF_WAIT_STATES ? thread.current_wait : 0;
  if (thread.state < OFF_STATES && thread.state_start < span.ended_ns) {
    const std::uint64_t length = span.ended_ns - thread.state_start;
    out.sums.ns[thread.state] += length;
    if (thread.state < OFF_WAIT_STATES) ++out.sums.counts[thread.state];
    if (out.histograms) count_time(*out.histograms, thread.state, length);
    if (thread.state <= OFF_BLOCKED || (all_waits && thread.state < OFF_WAIT_STATES))
      out.unfinished_wait_ns += length;
  }
  if (thread.state >= OFF_WAIT_STATES || thread.departure >= span.ended_ns) return;
  const std::uint64_t away = span.ended_ns - thread.departure;
  ++out.sums.waits;
  out.sums.longest = std::max<std::uint64_t>(out.sums.longest, away);
  if (out.sums.shortest == 0 || away < out.sums.shortest) out.sums.shortest = away;
}

}  // namespace

WindowSums compute_window_sums(const WindowSpan& span, const off_thread& thread, bool all_waits,
                               const off_histogram_pair* histograms) {
  WindowSums out;
  if (thread.created >= span.ended_ns || thread.window > span.number + 1) return out;
  out.wall_ns = span.ended_ns - std::max<std::uint64_t>(thread.created, span.opened_ns);
  out.sums = thread.sums[span.number & 1];
  if (histograms) out.histograms = histograms->windows[span.number & 1];
  off_thread copy = thread;
  if (thread.window <= span.number) complete_window(span, copy, all_waits, out);
  return out;
}

}  // namespace ctprof::off_cpu
