// Formats text for people: counts, times and sizes in words, and lines that fit the terminal.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof::cli {

// "12,345"
std::string group_digits(std::uint64_t number);
// "1 thread", "12,345 threads". Unlike ctprof::format_count(), groups the digits.
std::string format_count(std::uint64_t number, std::string_view noun, std::string_view plural = {});
// "12.3 ms"
std::string format_milliseconds(std::uint64_t nanoseconds);
// "512 B", "12.3 KiB", "4.5 MiB"
std::string format_size(std::uint64_t bytes);

// Joins words and wraps them. Lines are indented by `indent`, those after the first by `hanging`
// more.
std::string wrap_words(const std::vector<std::string>& words, std::size_t indent, std::size_t width,
                       std::size_t hanging = 0);
// Does the same for the words of a sentence.
std::string wrap_words(std::string_view sentence, std::size_t indent, std::size_t width,
                       std::size_t hanging);
// Returns the width of the terminal in columns, or a default without a terminal.
std::size_t text_width();

}  // namespace ctprof::cli
