// Which windows a directory of recordings holds, and where: one line for each.
//
//   20261123T15Z-01.ctprof.zst <tab> 0 <tab> 51234 <tab> BOOT <tab> 1790... <tab> 12... <tab> ...
//   <tab> 9ab3...
//
// That is a file, the window's first byte and how many it has, the boot, when it opened and when it
// ended, each by the wall clock and by CLOCK_BOOTTIME in ns, and a checksum of what stands before
// it. Nothing is in the index that is not in the files: it saves looking into them.
//
// Files are of an hour, in UTC, so that no change of the clocks brings the same name twice: parts
// are counted from 1, where one file would be too large or cannot be gone on with.

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

// A file of an hour, counted since 1970, and its part.
struct HourFile {
  std::uint64_t hour = 0;
  unsigned part = 1;
  auto operator<=>(const HourFile&) const = default;
};

HourFile hour_file_at(std::uint64_t unix_ns, unsigned part = 1);
// "20261123T15Z-01.ctprof.zst"
std::string name_of(const HourFile& file);
// None where that is another name.
std::optional<HourFile> hour_file_of(std::string_view name);

// A window and its place in a file.
struct KeptWindow {
  std::size_t at = 0, bytes = 0;
  std::string boot_id;
  Moment opened, ended;
};

// The line, with its end.
std::string index_line(const HourFile& file, const KeptWindow& window);

struct IndexEntry {
  HourFile file;
  KeptWindow window;
};
// The lines that are sound, in their order; others tell nothing.
std::vector<IndexEntry> read_index(std::string_view text);

}  // namespace ctprof
