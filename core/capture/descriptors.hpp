// File descriptors: whether there are enough of them for a capture, and how many a pass over the
// threads may keep open.
//
// If the soft limit is too low, it is raised, as far as the hard limit permits.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.hpp"

namespace ctprof {

// What a capture with one worker opens at a time, directories of threads not counted, and a few to
// spare; and how many of these are still to be opened once the plugins have been probed.
inline constexpr std::size_t kDescriptors = 16;
inline constexpr std::size_t kDescriptorsAfterProbing = 8;

// Fails unless `fewest` files can be opened now. The error says which limit would do.
Result<void> check_descriptors(std::size_t fewest);

// How many workers a pass over the threads may use, and how many directories each may keep open.
struct DescriptorShare {
  unsigned workers;
  std::uint32_t directories;  // that each worker keeps open
};
DescriptorShare share_descriptors(unsigned workers, std::uint32_t directories);

}  // namespace ctprof
