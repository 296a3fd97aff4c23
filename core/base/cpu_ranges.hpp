// Sets of CPUs as text, "0-3,8": as /proc writes them, and as files and reports do.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

// Words of 64 bits, the lowest CPU in the lowest bit; "" of none.
std::string cpu_ranges(std::span<const std::uint64_t> words);

// The same back, without zero words at the end. False where the text is no such list, names a CPU
// of `most` or beyond, or is not in ascending order without overlaps.
bool parse_cpu_ranges(std::string_view text, std::size_t most, std::vector<std::uint64_t>& words);

}  // namespace ctprof
