// Builds windows of threads and processes for tests of findings (sign_findings_test.cc,
// event_findings_test.cc), and returns their findings as text.

#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/compare/report/findings.hpp"
#include "core/render/findings_text.hpp"
#include "tests/unit/support/named_stacks.hpp"
#include "tests/unit/support/screen_windows.hpp"

namespace ctprof::sign_windows {

using namespace screen_windows;

inline const MetricDef
    kWaitTime = with_role(with_headline(metric("waited", "MonotonicNs", "SumNs"),
                                        {"%wait", 5, CTPROF_SHOWN_PERCENT, false, 1e7}),
                          "wait-time"),
    kVoluntarySwitches =
        with_role(metric("given_up", "MonotonicCount", "SumCount"), "voluntary-switches"),
    kPreemptions =
        with_role(metric("taken_off", "MonotonicCount", "SumCount"), "involuntary-switches"),
    kFaults = with_role(metric("faults", "MonotonicCount", "SumCount"), "major-faults"),
    kMinorFaults = with_role(metric("touched", "MonotonicCount", "SumCount"), "minor-faults"),
    kState = with_role(metric("state", "Char", "ModeChar"), "state"),
    kResident =
        with_role(with_headline(metric("resident", "GaugeBytes", "SumGaugeBytes", Entity::Process),
                                {"rss", 7, CTPROF_SHOWN_LEVEL, false, 0x1p24}),
                  "resident"),
    kEvents = [] {
      MetricDef def =
          with_role(metric("events", "CountMap", "MapSum", Entity::Cgroup), "memory-events");
      def.family = "cumulative";
      return def;
    }();

inline constexpr std::uint64_t kSeconds = 10, kOpened = 10;

// A thread that exists during the whole window, unless `start` is inside it.
struct Row {
  std::uint64_t process = 1, number = 0;  // number 0: the leader of the process
  std::string name = "server", thread = "server";
  std::uint64_t cpu = 0, waited = 0, voluntary_switches = 0, faults = 0;
  std::uint64_t involuntary_switches = 0, minor_faults = 0;
  std::string before = "S", after = "S";
  std::uint64_t megabytes_before = 0, megabytes_after = 0;  // of the process, set in its leader
  std::uint64_t start = 5;                                  // in ticks
};

inline std::vector<Row> threads(std::size_t count, Row each) {
  std::vector<Row> all{{.process = each.process, .name = each.name}};
  for (std::size_t at = 1; at <= count; ++at) {
    each.number = at;
    each.thread = "worker-" + std::to_string(at);
    all.push_back(each);
  }
  return all;
}

inline Snapshot end_of(const std::vector<Row>& all, bool is_last) {
  std::vector<Thread> listed;
  Cells<std::uint64_t> starts, cpu, waited, voluntary_switches, faults, preemptions, minor_faults,
      resident;
  Cells<std::string> states;
  for (const Row& row : all) {
    listed.push_back({row.process * 100, row.process * 100 + row.number, row.name, row.thread});
    starts.push_back(row.start);
    cpu.push_back(is_last ? row.cpu : 0);
    waited.push_back(is_last ? row.waited : 0);
    voluntary_switches.push_back(is_last ? row.voluntary_switches : 0);
    faults.push_back(is_last ? row.faults : 0);
    preemptions.push_back(is_last ? row.involuntary_switches : 0);
    minor_faults.push_back(is_last ? row.minor_faults : 0);
    states.push_back(is_last ? row.after : row.before);
    if (row.number == 0)
      resident.push_back((is_last ? row.megabytes_after : row.megabytes_before) << 20);
  }
  Snapshot snapshot = snapshot_of(listed);
  add_u64(snapshot, identity_metric(kStartTime), starts);
  add_bool(snapshot, identity_metric(kKernelThread), Cells<bool>(all.size(), false));
  add_u64(snapshot, kCpu, cpu);
  add_u64(snapshot, kWaitTime, waited);
  add_u64(snapshot, kVoluntarySwitches, voluntary_switches);
  add_u64(snapshot, kPreemptions, preemptions);
  add_u64(snapshot, kFaults, faults);
  add_u64(snapshot, kMinorFaults, minor_faults);
  add_text(snapshot, kState, states);
  add_u64(snapshot, kResident, resident);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = (is_last ? kOpened + kSeconds : kOpened) * kSecond;
  snapshot.read_at.assign(all.size(), 1);
  return snapshot;
}

inline void add_events(Snapshot& snapshot, std::uint64_t kills) {
  snapshot.table(Entity::Cgroup).rows = 2;
  add_text(snapshot, identity_metric(kCgroupPath), Cells<std::string>{"/a", "/a/b"});
  hand_made::add_map(
      snapshot, kEvents,
      {hand_made::MapValue{{"oom_kill", kills}}, hand_made::MapValue{{"oom_kill", kills}}});
}

inline Snapshot window_with(const std::vector<Row>& all, std::uint64_t kills = 0) {
  std::vector<Row> first = all;
  std::erase_if(first, [](const Row& row) { return row.start >= 100 * kOpened; });
  Snapshot before = end_of(first, false), after = end_of(all, true);
  if (kills > 0) {
    add_events(before, 1);
    add_events(after, 1 + kills);
  }
  auto made = make_window(before, std::move(after), {});
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  return std::move(*made);
}

// Returns the findings of a report with their commands.
inline std::string text_of(const Report& report) {
  const std::string files[] = {"a.zst", "b.zst"};
  return format_findings(
      report, {.files = files, .record_command = "ctprof record --recorders waits -d 5s"}, {}, 100);
}
inline std::string text_of(const std::vector<Row>& all) {
  return text_of(report_of(window_with(all)));
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

inline const MetricDef kWaitingStacks =
    with_role(metric("off", "StackNs", "StackSum"), "waiting-stacks");

// Returns a window in which each thread except leaders has these stacks.
inline Snapshot window_with_stacks(const std::vector<Row>& all, const hand_made::StackValue& stacks,
                                   const MetricDef& def = kWaitingStacks) {
  Snapshot window = window_with(all);
  Cells<hand_made::StackValue> cells;
  for (const Row& row : all) cells.push_back(row.number == 0 ? hand_made::StackValue{} : stacks);
  hand_made::add_stacks(window, def, cells);
  return window;
}

// Returns the findings of a comparison.
inline std::string compare(const std::vector<Row>& before, const std::vector<Row>& after) {
  const Snapshot first = window_with(before), last = window_with(after);
  return text_of(report_of({&first, &last}));
}

}  // namespace ctprof::sign_windows
