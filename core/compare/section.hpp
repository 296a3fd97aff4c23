// Sections: the parts in which show and compare tell what they found, in this order. A third party's come after, by name.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "core/compare/spec.hpp"

namespace ctprof {

struct SectionInfo {
  std::string_view name;
  bool needs_cgroups;  // its metrics are cgroups' own, which have groups under --group-by cgroup alone
};

// To add a section, add a line here.
inline constexpr SectionInfo kSections[] = {
    {"primary", false},       {"taskstats-delay", false}, {"derived", false},      {"cgroup-stats", true},
    {"cgroup-limits", true},  {"memory-stat", true},      {"memory-events", true}, {"pressure", true},
    {"host-pressure", false}, {"smaps-rollup", false},    {"sched-ext", false},
};

// The one of that name, or null.
const SectionInfo* find_section(std::string_view name);

// Sorts sections into their order.
std::tuple<std::size_t, std::string_view> section_place(std::string_view name);

// A sentence for each section that was asked for but needs another axis.
std::vector<std::string> misplaced_sections(const Spec& spec);

}  // namespace ctprof
