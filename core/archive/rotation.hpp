// Selects the files of a directory of recordings to drop: by age, and by size if too much remains.
//
// Complete files are dropped, the oldest first. A file is dropped as soon as its oldest window is
// too old. Therefore nothing is kept longer than requested, but up to an hour less is kept. The
// size limit takes precedence over the age.
//
// The age of a recording since the last boot is measured by CLOCK_BOOTTIME, and does not depend on
// changes of the wall clock. For earlier boots only the wall clock is known. If windows of this
// boot show that it was set forward by more than the age limit, earlier recordings are treated as
// if they had been made later by that amount. A clock that is wrong for a minute therefore drops
// nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/archive/directory.hpp"
#include "core/base/clock.hpp"
#include "core/snapshot/window.hpp"

namespace ctprof {

// The limits of an archive: the age of its windows, and its size.
struct RetentionRules {
  std::uint64_t max_age_ns = 0;
  std::uint64_t max_bytes = 0;  // limit for all files and the index
};

// A new file is begun before a file exceeds this fraction of the limit, so that dropping one file
// loses little.
inline constexpr std::uint64_t kMinParts = 8;
// With lower limits, dropping one file could leave nothing.
inline constexpr std::uint64_t kMinAgeNs = 2ULL * 3600 * kNsPerSecond;
inline constexpr std::uint64_t kMinBytes = 1024 * 1024;

// The current time and boot.
struct CurrentTime {
  std::string boot_id;  // empty: unknown
  Timestamp now;
  Timestamp earlier_window;  // any earlier window of this boot, which shows the setting of the wall
                             // clock at that time
};

// The ages of files. Examines both ends of each file, and all its windows if the ends differ in
// boot or clock setting.
class FileAges {
 public:
  FileAges(std::span<const ArchiveFile> files, CurrentTime current_time, std::uint64_t max_age_ns);

  // Returns when the file's oldest window opened, according to the current wall clock; for a file
  // without windows, the hour of its name.
  std::uint64_t oldest_window_time(const ArchiveFile& file) const;
  // Returns by how much the wall clock was set forward in this boot, if that exceeds the age limit;
  // otherwise 0.
  std::uint64_t step_ns() const { return step_ns_; }
  // Returns the indexes of the files, the oldest first.
  std::vector<std::size_t> sort_by_age(std::span<const ArchiveFile> files) const;

 private:
  void check_clock_step(const ArchivedWindow& window, std::uint64_t max_age_ns);
  void check_clock_step(const Timestamp& moment, std::uint64_t max_age_ns);
  bool is_of_current_boot(const ArchivedWindow& window) const;
  std::uint64_t corrected_open_time(const ArchivedWindow& window) const;

  CurrentTime current_;
  std::uint64_t step_ns_ = 0;
  std::uint64_t step_time_ns_ = 0;  // time of the step, in wall clock time before it
};

// Return the bytes of files including their lines in the index.
std::uint64_t bytes_of(const ArchiveFile& file);
std::uint64_t bytes_of(std::span<const ArchiveFile> files);
// Returns the bytes of the files after adding a window of `window_bytes`.
std::uint64_t bytes_with_window(std::span<const ArchiveFile> files, std::uint64_t window_bytes);

// Returns the indexes of files that are too old at that time, the oldest first.
std::vector<std::size_t> find_too_old(std::span<const ArchiveFile> files, const FileAges& ages,
                                      std::uint64_t at_unix_ns, const RetentionRules& rules);

// Predicts the size of an archive from the size and interval of its windows.
struct Forecast {
  std::uint64_t window_bytes = 0;
  std::uint64_t day_bytes = 0;
  std::uint64_t total_bytes = 0;  // bytes of all windows within the age limit
  // Time that will be available: less than requested if the size limit is reached first.
  std::uint64_t available_ns = 0;
};
Forecast predict_size(std::uint64_t window_bytes, std::uint64_t every_ns,
                      const RetentionRules& rules);

}  // namespace ctprof
