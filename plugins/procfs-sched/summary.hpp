// Failed reads of /proc: what they mean, and how many there were: `parse_summary` of the file.
//
// Fields of the reference: tids_walked, read_failures, read_failures_by_file,
// dominant_read_failure, kernel_config_dominant, negative_dotted_values; and one of ours,
// read_failures_denied. A failure is a file that could not be read; what a readable file lacks is a
// gap, and is not counted here.

#pragma once

#include <cstdint>

#include "ctprof/batch.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"
#include "ctprof/source.hpp"

namespace ctprof::procfs {

// Tallies of a source; the first ones are failures by file.
enum class Tally : std::uint32_t {
  Io,
  Sched,
  Schedstat,
  SmapsRollup,
  Stat,
  Status,
  Denied,         // of all failures: for want of permission
  Configuration,  // of schedstat and io: because the kernel was built without
  NegativeDotted,
};
inline constexpr std::uint32_t kTallies = 9;

// What it means that a file is missing, as ThreadGone says. On a live host it went away with its
// thread, for probing has found out what the kernel lacks. In a recorded tree no thread comes or
// goes: what is missing there was not recorded, and is Unsupported.
inline Gap gap_of_missing(const sdk::Host& host, Gap gap) {
  return gap == Gap::ThreadGone && !host.live() ? Gap::Unsupported : gap;
}

void count_failure(const sdk::Batch& batch, Tally file, Gap gap);

void put_parse_summary(const sdk::Summary& summary);

}  // namespace ctprof::procfs
