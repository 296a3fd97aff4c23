// Synthetic windows for tests of pages: run time, context switches and stacks of each thread.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "core/rules/rule_set.hpp"
#include "core/window/differences.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/named_stacks.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::hand_made {

inline constexpr std::uint64_t kSecond = 1'000'000'000, kMs = 1'000'000;
inline const RuleSet kRuleSet;

inline MetricDef headline(MetricDef def, Headline shown) {
  def.headline = std::move(shown);
  def.plugin = "ours";
  return def;
}

inline const MetricDef kCpu = headline(metric("run_time_ns", "MonotonicNs", "SumNs"),
                                       {"%CPU", 1, CTPROF_SHOWN_PERCENT, false, 1e7}),
                       kSwitches = headline(metric("nr_switches", "MonotonicCount", "SumCount"),
                                            {"csw/s", 2, CTPROF_SHOWN_RATE, false, 10}),
                       kResident = headline(metric("rss_bytes", "GaugeBytes", "SumGaugeBytes"),
                                            {"rss", 3, CTPROF_SHOWN_LEVEL, false, 0x1p20});

// A stack, root first, and its weight in ms.
using StackTime = std::pair<std::string, std::uint64_t>;

struct ThreadActivity {
  std::string name;
  std::uint64_t cpu = 0, switches = 0;
  std::vector<StackTime> stacks{};
};

inline Snapshot make_snapshot(const std::vector<ThreadActivity>& activities, std::uint64_t second,
                              bool has_run) {
  std::vector<Thread> threads;
  Cells<std::uint64_t> starts, cpu, switches, resident;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    threads.push_back({i + 1, i + 1, activities[i].name, activities[i].name});
    starts.push_back(5);
    cpu.push_back(has_run ? activities[i].cpu : 0);
    switches.push_back(has_run ? activities[i].switches : 0);
    resident.push_back(activities[i].cpu == 0 ? 0
                       : has_run              ? 8'000'000 + activities[i].cpu / 1000
                                              : 2'000'000);
  }
  Snapshot snapshot = snapshot_of(threads);
  add_u64(snapshot, identity_metric(kStartTime), starts);
  add_u64(snapshot, kCpu, cpu);
  add_u64(snapshot, kSwitches, switches);
  add_u64(snapshot, kResident, resident);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.meta.start.wall_unix_ns = (1'767'000'000 + second) * kSecond;
  snapshot.read_at.assign(activities.size(), 1);
  return snapshot;
}

// Makes a window of ten seconds, number `run` since the boot of the host.
inline Snapshot make_run_window(const std::vector<ThreadActivity>& activities, std::size_t run) {
  const std::uint64_t second = 100 + 12 * run;
  auto made = make_window(make_snapshot(activities, second, false),
                          make_snapshot(activities, second + 10, true), {});
  if (!made) std::cerr << made.error().text << '\n', std::exit(1);
  convert_to_differences(*made);
  Cells<StackValue> stacks;
  for (const ThreadActivity& activity : activities) {
    StackValue value;
    for (const auto& [functions, ms] : activity.stacks) value.emplace_back(functions, ms * kMs);
    stacks.push_back(std::move(value));
  }
  add_stacks(*made, kStacks, stacks);
  return std::move(*made);
}

}  // namespace ctprof::hand_made
