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
#include "core/snapshot/window.hpp"

namespace ctprof {

// The limits of an archive: the age of its windows, and its size.
struct KeepRules {
  std::uint64_t keep_ns = 0;
  std::uint64_t most_bytes = 0;  // limit for all files and the index
};

// A new file is begun before a file exceeds this fraction of the limit, so that dropping one file
// loses little.
inline constexpr std::uint64_t kLeastParts = 8;
// With lower limits, dropping one file could leave nothing.
inline constexpr std::uint64_t kLeastKeepNs = 2ULL * 3600 * 1'000'000'000;
inline constexpr std::uint64_t kLeastBytes = 1024 * 1024;

// The current time and boot.
struct Present {
  std::string boot_id;  // empty: unknown
  Moment now;
  Moment before;  // any earlier window of this boot, which shows the setting of the wall clock at
                  // that time
};

// The ages of files. Examines both ends of each file, and all its windows if the ends differ in
// boot or clock setting.
class Ages {
 public:
  Ages(std::span<const KeptFile> files, Present present, std::uint64_t keep_ns);

  // Returns when the file's oldest window opened, according to the current wall clock; for a file
  // without windows, the hour of its name.
  std::uint64_t oldest_in(const KeptFile& file) const;
  // Returns by how much the wall clock was set forward in this boot, if that exceeds the age limit;
  // otherwise 0.
  std::uint64_t step_ns() const { return step_ns_; }
  // Returns the indexes of the files, the oldest first.
  std::vector<std::size_t> by_age(std::span<const KeptFile> files) const;

 private:
  void take(const KeptWindow& window, std::uint64_t keep_ns);
  void take(const Moment& moment, std::uint64_t keep_ns);
  bool is_of_boot(const KeptWindow& window) const;
  std::uint64_t opened(const KeptWindow& window) const;

  Present present_;
  std::uint64_t step_ns_ = 0;
  std::uint64_t stepped_at_ns_ = 0;  // time of the step, in wall clock time before it
};

// Return the bytes of files including their lines in the index.
std::uint64_t bytes_of(const KeptFile& file);
std::uint64_t bytes_of(std::span<const KeptFile> files);
// Returns the bytes of the files after adding a window of `more` bytes.
std::uint64_t bytes_with(std::span<const KeptFile> files, std::uint64_t more);

// Returns the indexes of files that are too old at that time, the oldest first.
std::vector<std::size_t> too_old(std::span<const KeptFile> files, const Ages& ages,
                                 std::uint64_t at_unix_ns, const KeepRules& rules);

// Predicts the size of an archive from the size and interval of its windows.
struct Forecast {
  std::uint64_t window_bytes = 0;
  std::uint64_t day_bytes = 0;
  std::uint64_t whole_bytes = 0;  // bytes of all windows within the age limit
  std::uint64_t kept_ns =
      0;  // time that will be available: less than requested if the size limit is reached first
};
Forecast forecast(std::uint64_t window_bytes, std::uint64_t every_ns, const KeepRules& rules);

}  // namespace ctprof
