// Parses formats that the kernel uses in many files: lists of CPUs, flat keyed text, and scheduling
// policies.
//
//   0-3,8             a list of CPUs: Cpus_allowed_list, /sys/devices/system/cpu/online
//   usage_usec 4031   flat keyed: a line for each key, as in cpu.stat, memory.stat and
//                     memory.events of a cgroup, or root/events of sched_ext
//   policy : 3        a scheduling policy, by the numbers of sched_setscheduler(2)
//
// Newer kernels add keys, so a reader of all keys accepts unknown ones.

#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "ctprof/batch.hpp"

namespace ctprof {

inline constexpr std::uint64_t kMaxCpus = 65536;

// Sets one bit in `words` for each CPU of the list. Returns false, and leaves the words undefined,
// if the text is not a list, is empty, or names a CPU of kMaxCpus or above.
bool parse_cpu_list(std::string_view list, std::vector<std::uint64_t>& words);

// Parses all lines into `entries`, as views into `text`. Returns false if there is no line, or if a
// line is not a key, a space and a number.
bool parse_flat_keyed(std::string_view text, std::vector<ctprof_entry>& entries);

// Returns the value of one key: Unsupported if no line has it, Malformed if it is not a number.
sdk::Reading<std::uint64_t> find_flat_value(std::string_view text, std::string_view key);

using PolicyNameBuffer = std::array<char, 40>;

// Returns the name of a policy. For an unknown number, the name is written into `buffer`, and is
// valid as long as `buffer`.
inline std::string_view policy_name(std::uint64_t policy, PolicyNameBuffer& buffer) {
  // The number 4 was never assigned.
  constexpr std::array<std::string_view, 8> kNames{"SCHED_OTHER",    "SCHED_FIFO", "SCHED_RR",
                                                   "SCHED_BATCH",    "",           "SCHED_IDLE",
                                                   "SCHED_DEADLINE", "SCHED_EXT"};
  if (policy < kNames.size() && !kNames[policy].empty()) return kNames[policy];
  const int size = std::snprintf(buffer.data(), buffer.size(), "SCHED_UNKNOWN(%llu)",
                                 static_cast<unsigned long long>(policy));
  return {buffer.data(), static_cast<std::size_t>(size)};
}

// Returns whether the fair scheduler, or a BPF scheduler in its place, grants slices under this
// policy: OTHER, BATCH and EXT.
constexpr bool has_fair_slice(std::uint64_t policy) {
  return policy == 0 || policy == 3 || policy == 7;
}

}  // namespace ctprof
