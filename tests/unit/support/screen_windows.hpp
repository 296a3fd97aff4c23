// Builds synthetic windows for tests of the first screen, from the activity of each thread.

#pragma once

#include <boost/test/unit_test.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/window/differences.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::screen_windows {

using hand_made::add_bool;
using hand_made::add_text;
using hand_made::add_u64;
using hand_made::Cells;
using hand_made::metric;
using hand_made::snapshot_of;
using hand_made::Thread;

inline constexpr std::uint64_t kSecond = 1'000'000'000, kMs = 1'000'000;
inline const RuleSet kRuleSet;

inline MetricDef with_headline(MetricDef def, Headline headline) {
  def.headline = std::move(headline);
  def.plugin = "ours";
  return def;
}

inline MetricDef with_role(MetricDef def, std::string role) {
  def.role = std::move(role);
  return def;
}

inline const MetricDef kCpu =
                           with_role(with_headline(metric("cpu", "MonotonicNs", "SumNs"),
                                                   {"%cpu", 1, CTPROF_SHOWN_PERCENT, false, 1e7}),
                                     "run-time"),
                       kSwitches = with_headline(metric("switches", "MonotonicCount", "SumCount"),
                                                 {"sw/s", 2, CTPROF_SHOWN_RATE, false, 10}),
                       kIdle = with_headline(metric("idle", "MonotonicNs", "SumNs"),
                                             {"%idle", 3, CTPROF_SHOWN_PERCENT, true, 1e7}),
                       kMemory = with_headline(metric("held", "GaugeBytes", "SumGaugeBytes"),
                                               {"held", 4, CTPROF_SHOWN_LEVEL, false, 0x1p20});

// The activity of one thread, which is a process of its own, in the window.
struct ThreadActivity {
  std::string name;
  std::uint64_t cpu = 0, switches = 0, idle = 0;
  std::uint64_t memory_before = 0, memory_after = 0;
  bool is_kernel = false;
  bool is_started = false;  // started inside the window; such threads come last
};

inline Snapshot snapshot_at(std::uint64_t second, const std::vector<ThreadActivity>& all) {
  std::vector<Thread> threads;
  Cells<std::uint64_t> starts;
  Cells<bool> kernel;
  for (std::size_t i = 0; i < all.size(); ++i) {
    threads.push_back({i + 1, i + 1, all[i].name, all[i].name});
    starts.push_back(all[i].is_started ? 1100 : 5);
    kernel.push_back(all[i].is_kernel);
  }
  Snapshot snapshot = snapshot_of(threads);
  add_u64(snapshot, identity_metric(kStartTime), starts);
  add_bool(snapshot, identity_metric(kKernelThread), kernel);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.read_at.assign(all.size(), 1);
  return snapshot;
}

inline void add_counter(Snapshot& snapshot, const MetricDef& def,
                        const std::vector<ThreadActivity>& all,
                        std::uint64_t ThreadActivity::*field, bool counts) {
  Cells<std::uint64_t> cells;
  for (const ThreadActivity& did : all) cells.push_back(counts ? did.*field : 0);
  add_u64(snapshot, def, cells);
}

// Adds columns that ThreadActivity does not have to the opening or the end of a window.
using AddColumns = std::function<void(Snapshot& snapshot, bool is_end)>;

// Returns a window that opens at 10 s.
inline Snapshot window_of(const std::vector<ThreadActivity>& all, std::uint64_t seconds = 10,
                          std::vector<std::uint64_t> own = {}, const AddColumns& more = {}) {
  std::vector<ThreadActivity> first = all;
  std::erase_if(first, [](const ThreadActivity& did) { return did.is_started; });
  Snapshot ends[] = {snapshot_at(10, first), snapshot_at(10 + seconds, all)};
  for (const bool is_end : {false, true}) {
    const auto& there = is_end ? all : first;
    add_counter(ends[is_end], kCpu, there, &ThreadActivity::cpu, is_end);
    add_counter(ends[is_end], kSwitches, there, &ThreadActivity::switches, is_end);
    add_counter(ends[is_end], kIdle, there, &ThreadActivity::idle, is_end);
    add_counter(ends[is_end], kMemory, there,
                is_end ? &ThreadActivity::memory_after : &ThreadActivity::memory_before, true);
    if (more) more(ends[is_end], is_end);
  }
  ends[1].meta.own_threads = std::move(own);
  auto made = make_window(ends[0], std::move(ends[1]), {});
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  return std::move(*made);
}

inline Report report_of(const std::vector<const Snapshot*>& sides, Spec spec = {}) {
  auto report = Report::make(sides, spec, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

inline Report report_of(const Snapshot& window, Spec spec = {}) {
  return report_of(std::vector{&window}, std::move(spec));
}

inline std::string row_names(const Report& report) {
  std::string text;
  for (const ScreenRow& row : report.screen()->rows)
    text += (text.empty() ? "" : " ") + report.grouping().names[row.group];
  return text;
}

inline const ScreenRow& find_row(const Report& report, const std::string& name) {
  for (const ScreenRow& row : report.screen()->rows)
    if (report.grouping().names[row.group] == name) return row;
  throw std::out_of_range(name);
}

}  // namespace ctprof::screen_windows
