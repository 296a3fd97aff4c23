// Checks that enough file descriptors are available for a capture, and computes how many
// directories a pass over the threads may keep open.
//
// If the soft limit is too low, raises it, at most to the hard limit.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.hpp"

namespace ctprof {

// kDescriptors: how many files a capture with one worker opens concurrently, without thread
// directories, plus a reserve. kDescriptorsAfterProbing: how many of these are opened after the
// plugins have been probed.
inline constexpr std::size_t kDescriptors = 16;
inline constexpr std::size_t kDescriptorsAfterProbing = 8;

// Fails unless `minimum` files can be opened now. The error states the limit that is needed.
Result<void> check_descriptors(std::size_t minimum);

// The number of workers that a pass over the threads may use, and the number of directories that
// each may keep open.
struct DescriptorShare {
  unsigned workers;
  std::uint32_t directories;  // kept open by each worker
};
DescriptorShare share_descriptors(unsigned workers, std::uint32_t directories);

}  // namespace ctprof
