// Sections: the parts in which show and compare tell what they found, in this order. A metric names
// its own (abi.h, ctprof_metric); one of another name comes after these, in a section of its own.

//
//   inline constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kDepth{{
//       .name = "example_queue_depth", .section = "example", .description = "..."}};
//
// `--sections example` then shows it alone, and `ctprof metric-list` names it among the others.

#pragma once

#include <string_view>

namespace ctprof {

// A third party needs no line here. It names a section of its own in its metrics, and gets one with
// that name as heading.
struct SectionInfo {
  std::string_view name;
  // Its metrics are cgroups' own, which have groups under --group-by cgroup alone.
  bool needs_cgroups;
};

// To add a section, add a line here.
// The order is that of a report: what a thread did first, then what it waited for, what is computed
// of both, its surroundings, and last what only some hosts have.
inline constexpr SectionInfo kSections[] = {
    {"primary", false},      {"taskstats-delay", false}, {"derived", false},
    {"cgroup-stats", true},  {"cgroup-limits", true},    {"memory-stat", true},
    {"memory-events", true}, {"pressure", true},         {"host-pressure", false},
    {"smaps-rollup", false}, {"sched-ext", false},       {"host-cpu", false},
};

}  // namespace ctprof
