// Scheduling policies by their numbers, those of sched_setscheduler(2).

#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace ctprof {

using PolicyRoom = std::array<char, 40>;

// The name; it lives as long as `room`, which an unknown number is written into.
inline std::string_view policy_name(std::uint64_t policy, PolicyRoom& room) {
  // 4 was never given.
  constexpr std::array<std::string_view, 8> kNames{"SCHED_OTHER",    "SCHED_FIFO", "SCHED_RR",
                                                   "SCHED_BATCH",    "",           "SCHED_IDLE",
                                                   "SCHED_DEADLINE", "SCHED_EXT"};
  if (policy < kNames.size() && !kNames[policy].empty()) return kNames[policy];
  const int size = std::snprintf(room.data(), room.size(), "SCHED_UNKNOWN(%llu)",
                                 static_cast<unsigned long long>(policy));
  return {room.data(), static_cast<std::size_t>(size)};
}

// Whether the fair scheduler, or a BPF scheduler in its place, grants slices under this policy:
// OTHER, BATCH and EXT.
constexpr bool has_fair_slice(std::uint64_t policy) {
  return policy == 0 || policy == 3 || policy == 7;
}

}  // namespace ctprof
