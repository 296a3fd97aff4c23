// /proc/<tgid>/task/<tid>/schedstat: three numbers: ns on a CPU, ns waiting for one, arrivals on
// one.
//
// The file needs CONFIG_SCHED_INFO, not CONFIG_SCHEDSTATS nor kernel.sched_schedstats.

#pragma once

#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/text_table.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

struct SchedstatFile : sdk::WordText<1, sdk::WordLine<vocabulary::run_time_ns, 1>,
                                     sdk::WordLine<vocabulary::wait_time_ns, 2>,
                                     sdk::WordLine<vocabulary::timeslices, 3>> {
  using WordText::WordText;
  static constexpr const char* kName = "schedstat";
  static constexpr Tally kFailures = Tally::Schedstat;
  static Values parse(std::string_view text) { return WordText::parse(sdk::take(text, '\n')); }
  void fill(const sdk::Thread& thread, std::string_view text) { put(thread.row, parse(text)); }
};

}  // namespace ctprof::procfs
