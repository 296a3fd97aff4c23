// Builds windows from two snapshots and the threads that exited between them; each row is one
// thread.

#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/window/happened.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/hand_made.hpp"

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
struct Born {
  std::uint64_t tid, start;
};

inline Snapshot taken(std::uint64_t second, const std::vector<Born>& threads,
                      std::uint64_t tgid = 0) {
  std::vector<Thread> named;
  Cells<std::uint64_t> starts;
  for (const Born& thread : threads) {
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

inline Ended ended_at(std::uint64_t second, const std::vector<Born>& threads,
                      std::uint64_t tgid = 0) {
  Ended ended;
  ended.rows = taken(second, threads, tgid);
  ended.at_ns.assign(threads.size(), second * kSecond);
  ended.told = true;
  return ended;
}

inline Snapshot window(const Snapshot& before, Snapshot after, Ended ended = {}) {
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE(made);
  to_differences(*made);
  return std::move(*made);
}

inline const Column& column(const Snapshot& snapshot, const MetricDef& def) {
  const Column* found = snapshot.table(def.entity).find(def.name);
  BOOST_REQUIRE(found);
  return *found;
}

inline std::uint64_t value(const Snapshot& snapshot, const MetricDef& def, std::size_t row) {
  const Column& found = column(snapshot, def);
  BOOST_REQUIRE_EQUAL(name(found.gap(row)), "None");
  return found.u64()[row];
}

inline std::string gap(const Snapshot& snapshot, const MetricDef& def, std::size_t row) {
  return std::string(name(column(snapshot, def).gap(row)));
}

}  // namespace ctprof::hand_made
