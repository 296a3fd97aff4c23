// Sections: the parts in which show and compare tell what they found, in this order. A metric names
// its own (abi.h, ctprof_metric); one of another name comes after these, in a section of its own.

#pragma once

#include <string_view>

namespace ctprof {

struct SectionInfo {
  std::string_view name;
  bool needs_cgroups;  // its metrics are cgroups' own, which have groups under --group-by cgroup
                       // alone
};

// To add a section, add a line here.
inline constexpr SectionInfo kSections[] = {
    {"primary", false},      {"taskstats-delay", false}, {"derived", false},
    {"cgroup-stats", true},  {"cgroup-limits", true},    {"memory-stat", true},
    {"memory-events", true}, {"pressure", true},         {"host-pressure", false},
    {"smaps-rollup", false}, {"sched-ext", false},       {"host-cpu", false},
};

}  // namespace ctprof
