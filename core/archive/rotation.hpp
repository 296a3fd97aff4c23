// Which files of a directory of recordings go: by age, and by size where age leaves too many.
//
// Files go whole, the oldest first. One goes as soon as its oldest window is too old, so nothing is
// kept longer than asked, and up to an hour less is kept. Size wins over age.
//
// What was recorded since the host started is as old as CLOCK_BOOTTIME says, whatever people and
// NTP set the wall clock to meanwhile. Of earlier boots the wall clock is all there is: where this
// boot's own windows show that it was set forward by more than is to be kept, what was recorded
// before counts as recorded by so much later. So a clock that is wrong for a minute drops nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/archive/directory.hpp"
#include "core/snapshot/window.hpp"

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

// Now, and the boot that it is in.
struct Present {
  std::string boot_id;  // empty: not known
  Moment now;
  Moment before;  // any earlier moment of that boot, for how the wall clock was set then
};

// How old files are. Looks at both ends of each file, and further where these differ.
class Ages {
 public:
  Ages(std::span<const KeptFile> files, Present present, std::uint64_t keep_ns);

  // When the file's oldest window opened, as the wall clock is set now; of a file without windows,
  // the hour of its name.
  std::uint64_t oldest_in(const KeptFile& file) const;
  // By how much the wall clock was set forward in this boot, where that is more than is to be kept;
  // else 0.
  std::uint64_t step_ns() const { return step_ns_; }
  // Their places in the span, the oldest first.
  std::vector<std::size_t> by_age(std::span<const KeptFile> files) const;

 private:
  void take(const KeptWindow& window, std::uint64_t keep_ns);
  void take(const Moment& moment, std::uint64_t keep_ns);
  bool is_of_boot(const KeptWindow& window) const;
  std::uint64_t opened(const KeptWindow& window) const;

  Present present_;
  std::uint64_t step_ns_ = 0;
  std::uint64_t stepped_at_ns_ = 0;  // on the wall clock, as it was set before
};

// What the files take, their lines in the index included.
std::uint64_t bytes_of(const KeptFile& file);
std::uint64_t bytes_of(std::span<const KeptFile> files);
// The same when there is another window of so many bytes.
std::uint64_t bytes_with(std::span<const KeptFile> files, std::uint64_t more);

// Which files, by their places, are too old at that time, the oldest first.
std::vector<std::size_t> too_old(std::span<const KeptFile> files, const Ages& ages,
                                 std::uint64_t at_unix_ns, const KeepRules& rules);

// What windows of that size, so often, come to.
struct Forecast {
  std::uint64_t window_bytes = 0;
  std::uint64_t day_bytes = 0;
  std::uint64_t whole_bytes = 0;  // of all the time that is to be kept
  std::uint64_t kept_ns = 0;      // how far back it will reach: less than asked where size wins
};
Forecast forecast(std::uint64_t window_bytes, std::uint64_t every_ns, const KeepRules& rules);

}  // namespace ctprof
