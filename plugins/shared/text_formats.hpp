// Formats in which the kernel prints many files: lists of CPUs, and flat keyed text.
//
//   0-3,8             a list of CPUs: Cpus_allowed_list, /sys/devices/system/cpu/online
//   usage_usec 4031   flat keyed: a line for each key, as in cpu.stat, memory.stat and
//                     memory.events of a cgroup, or root/events of sched_ext
//
// Newer kernels add keys, so whoever wants all of them takes what is there.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/batch.hpp"

namespace ctprof {

inline constexpr std::uint64_t kMaxCpus = 65536;

// Puts the CPUs into `words`, one bit each. False, and the words undefined, when the text is not a
// list, is empty, or names a CPU of kMaxCpus or above.
bool parse_cpu_list(std::string_view list, std::vector<std::uint64_t>& words);

// Puts all lines into `entries`, as views into `text`. False when there is no line, or one is not a
// key, a space and a number.
bool parse_flat_keyed(std::string_view text, std::vector<ctprof_entry>& entries);

// The value of one key: Unsupported when no line has it, Malformed when it is not a number.
sdk::Reading<std::uint64_t> flat_value(std::string_view text, std::string_view key);

}  // namespace ctprof
