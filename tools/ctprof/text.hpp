// Small pieces of English: counts, times, sizes.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ctprof::cli {

// "12,345"
std::string with_separators(std::uint64_t number);
// "1 thread", "12,345 threads"; `plural` where an s does not do.
std::string count(std::uint64_t number, std::string_view noun, std::string_view plural = {});
// "12.3 ms"
std::string milliseconds(std::uint64_t nanoseconds);
// "512 B", "12.3 KiB", "4.5 MiB"
std::string size_in_words(std::uint64_t bytes);

}  // namespace ctprof::cli
