// The index of a directory of recordings: one line per window.
//
//   20261123T15Z-01.ctprof.zst <tab> 0 <tab> 51234 <tab> BOOT <tab> 1790... <tab> 12... <tab> ...
//   <tab> 9ab3...
//
// A line contains the file, the position and size of the window in bytes, the boot id, the times of
// its start and end (each as wall clock time and as CLOCK_BOOTTIME, in ns), and a checksum of the
// preceding fields. The index contains only information that is also in the files, and makes
// reading them unnecessary.
//
// Each file covers an hour of UTC, so that changes of the time zone or of daylight saving time
// never lead to the same name twice. Parts are numbered from 1; a new part begins if a file would
// become too large or cannot be appended to.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot/window.hpp"

namespace ctprof {

inline constexpr const char* kIndexName = "index.tsv";

// The name of a file: its hour since 1970, and its part.
struct HourFile {
  std::uint64_t hour = 0;
  unsigned part = 1;
  auto operator<=>(const HourFile&) const = default;
};

HourFile hour_file_at(std::uint64_t unix_ns, unsigned part = 1);
// Returns text such as "20261123T15Z-01.ctprof.zst".
std::string file_name_of(const HourFile& file);
// Parses a file name; none if it is not the name of an hourly file.
std::optional<HourFile> parse_hour_file(std::string_view name);

// A window and its position in a file.
struct ArchivedWindow {
  std::size_t offset = 0, bytes = 0;
  std::string boot_id;
  Timestamp opened_at, ended_at;
};

// Returns the index line, including its line feed.
std::string index_line(const HourFile& file, const ArchivedWindow& window);

// One line of the index.
struct IndexEntry {
  HourFile file;
  ArchivedWindow window;
};
// Returns the valid lines, in order, and ignores others.
std::vector<IndexEntry> read_index(std::string_view text);

}  // namespace ctprof
