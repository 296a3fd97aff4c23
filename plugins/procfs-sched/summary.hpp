// Counts failed reads of /proc by cause, for `parse_summary` of the file.
//
// Its fields are those of the reference: tids_walked, read_failures, read_failures_by_file,
// dominant_read_failure, kernel_config_dominant, negative_dotted_values; and one of ctprof:
// read_failures_denied. A failure is a file that could not be read. Values that are missing from a
// readable file are gaps, and are not counted here.

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
  Denied,         // of all failures: no permission
  Configuration,  // of schedstat and io: the kernel was built without the option
  NegativeDotted,
};
inline constexpr std::uint32_t kTallyCount = 9;

// Returns the gap of a missing file. On a live host ThreadGone is right: the file disappeared with
// its thread, because the probe has determined what the kernel lacks. In a recorded tree no thread
// starts or exits: a missing file was not recorded, and is Unsupported.
inline Gap gap_of_missing_file(const sdk::Host& host, Gap gap) {
  return gap == Gap::ThreadGone && !host.live() ? Gap::Unsupported : gap;
}

void count_failure(const sdk::Batch& batch, Tally file, Gap gap);

void put_parse_summary(const sdk::Summary& summary);

}  // namespace ctprof::procfs
