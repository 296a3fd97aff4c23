// What the sides of a comparison are called: the first is the baseline, which all others are
// compared with.

#pragma once

#include <cstddef>
#include <string>

namespace ctprof {

// "baseline", "candidate", "candidate_2", "candidate_3" ...
inline std::string side_name(std::size_t side) {
  if (side == 0) return "baseline";
  return side == 1 ? "candidate" : "candidate_" + std::to_string(side);
}

}  // namespace ctprof
