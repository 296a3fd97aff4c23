// What conditions can ask of a group beside its metrics.

#pragma once

#include <string_view>

namespace ctprof {

inline constexpr std::string_view kGroupThreads = "threads";  // how many it has
inline constexpr std::string_view kGroupName = "group";       // as text shows it

inline bool is_of_groups(std::string_view input) {
  return input == kGroupThreads || input == kGroupName;
}

}  // namespace ctprof
