// File descriptors: whether there are enough of them for a capture, and how many of them a pass
// over the threads may hold.
//
// The soft limit is raised as far as the hard one lets it, once it does not suffice.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.hpp"

namespace ctprof {

// What a capture by all plugins opens at a time with one worker that holds no directory, and some
// to spare; and how many of them are not open yet when the plugins have been asked what they can
// do.
inline constexpr std::size_t kDescriptors = 16;
inline constexpr std::size_t kDescriptorsAfterProbing = 8;

// Whether as many can be opened now. The error says which limit would do.
Result<void> check_descriptors(std::size_t fewest);

// What a pass over the threads may do at once.
struct DescriptorShare {
  unsigned workers;
  std::uint32_t directories;  // that each worker keeps open
};
DescriptorShare share_descriptors(unsigned workers, std::uint32_t directories);

}  // namespace ctprof
