// Which files of a directory of recordings go: by age, and by size where age leaves too many.
//
// Files go whole, the oldest first. One goes as soon as its oldest window is too old, so nothing is
// kept longer than asked, and up to an hour less is kept. Size wins over age.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/archive/directory.hpp"

namespace ctprof {

struct KeepRules {
  std::uint64_t keep_ns = 0;
  std::uint64_t most_bytes = 0;  // of all files and the index
};

// A file is begun anew where it would have a larger share of all: what goes at once is little.
inline constexpr std::uint64_t kLeastParts = 8;
// Less would leave nothing to look back at when a file has gone.
inline constexpr std::uint64_t kLeastKeepNs = 2ULL * 3600 * 1'000'000'000;
inline constexpr std::uint64_t kLeastBytes = 1024 * 1024;

// When the file's oldest window opened; of one without windows, the hour of its name.
std::uint64_t oldest_in(const KeptFile& file);

// What the files take, their lines in the index included.
std::uint64_t bytes_of(std::span<const KeptFile> files);

// How many files, from the first on, are too old at that time.
std::size_t too_old(std::span<const KeptFile> files, std::uint64_t now_unix_ns,
                    const KeepRules& rules);
// How many have to go so that there is room for so many bytes more.
std::size_t too_many(std::span<const KeptFile> files, std::uint64_t more, const KeepRules& rules);

// What windows of that size, so often, come to.
struct Forecast {
  std::uint64_t window_bytes = 0;
  std::uint64_t day_bytes = 0;
  std::uint64_t whole_bytes = 0;  // of all the time that is to be kept
  std::uint64_t kept_ns = 0;      // how far back it will reach: less than asked where size wins
};
Forecast forecast(std::uint64_t window_bytes, std::uint64_t every_ns, const KeepRules& rules);

}  // namespace ctprof
