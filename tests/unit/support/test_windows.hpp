// Builds windows from two snapshots and the threads that exited between them; each row is one
// thread.

#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/window/differences.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::hand_made {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

inline MetricDef with_role(MetricDef def, std::string role) {
  def.role = std::move(role);
  return def;
}

inline const MetricDef kRun = with_role(metric("run_time_ns", "MonotonicNs", "SumNs"), "run-time"),
                       kRunning = with_role(metric("running_ns", "GaugeNs", "MaxGaugeNs"),
                                            "run-time-in-progress"),
                       kUser = with_role(metric("utime", "ClockTicks", "SumTicks"), "user-time"),
                       kSystem =
                           with_role(metric("stime", "ClockTicks", "SumTicks"), "system-time"),
                       kState = with_role(metric("state", "Char", "ModeChar"), "state"),
                       kFaults = metric("minflt", "MonotonicCount", "SumCount"),
                       kPeak = metric("wait_max", "PeakNs", "MaxPeak"),
                       kHeap = metric("heap", "GaugeBytes", "SumGaugeBytes");

// The row of a thread: thread id, and start time in ticks.
struct StartedThread {
  std::uint64_t tid, start;
};

inline Snapshot snapshot_at(std::uint64_t second, const std::vector<StartedThread>& threads,
                            std::uint64_t tgid = 0) {
  std::vector<Thread> named;
  Cells<std::uint64_t> starts;
  for (const StartedThread& thread : threads) {
    named.push_back({tgid ? tgid : thread.tid, thread.tid, "p", "t"});
    starts.push_back(thread.start);
  }
  Snapshot snapshot = snapshot_of(named);
  add_u64(snapshot, identity_metric(kStartTime), starts);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.read_at.assign(threads.size(), 7);
  return snapshot;
}

inline ExitedThreads exited_at(std::uint64_t second, const std::vector<StartedThread>& threads,
                               std::uint64_t tgid = 0) {
  ExitedThreads ended;
  ended.rows = snapshot_at(second, threads, tgid);
  ended.exit_ns.assign(threads.size(), second * kSecond);
  ended.has_source = true;
  return ended;
}

inline Snapshot make_test_window(const Snapshot& before, Snapshot after, ExitedThreads ended = {}) {
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  return std::move(*made);
}

inline const Column& find_column(const Snapshot& snapshot, const MetricDef& def) {
  const Column* found = snapshot.table(def.entity).find(def.name);
  BOOST_REQUIRE(found);
  return *found;
}

inline std::uint64_t read_value(const Snapshot& snapshot, const MetricDef& def, std::size_t row) {
  const Column& found = find_column(snapshot, def);
  BOOST_REQUIRE_EQUAL(name(found.gap(row)), "None");
  return found.u64()[row];
}

inline std::string gap_name(const Snapshot& snapshot, const MetricDef& def, std::size_t row) {
  return std::string(name(find_column(snapshot, def).gap(row)));
}

}  // namespace ctprof::hand_made
