// Sets of CPUs as text, "0-3,8", the format of /proc, files and reports.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

// Formats words of 64 bits, the lowest CPU in the lowest bit; "" for an empty set.
std::string format_cpu_ranges(std::span<const std::uint64_t> words);

// Parses that format, without zero words at the end. Returns false if the text is not such a list,
// contains a CPU number of at least `cpu_count`, or is not ascending and without overlaps.
bool parse_cpu_ranges(std::string_view text, std::size_t cpu_count,
                      std::vector<std::uint64_t>& words);

}  // namespace ctprof
