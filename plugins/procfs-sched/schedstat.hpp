// /proc/<tgid>/task/<tid>/schedstat: three numbers: ns on a CPU, ns waiting for one, arrivals on
// one.
//
// The file needs CONFIG_SCHED_INFO, not CONFIG_SCHEDSTATS nor kernel.sched_schedstats.

#pragma once

#include <string_view>

#include "ctprof/batch.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/shared/fields.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

struct Schedstat {
  sdk::Reading<std::uint64_t> run_time_ns = Gap::Malformed;
  sdk::Reading<std::uint64_t> wait_time_ns = Gap::Malformed;
  sdk::Reading<std::uint64_t> timeslices = Gap::Malformed;
};

Schedstat parse_schedstat(std::string_view text);

struct SchedstatFile
    : Fields<vocabulary::run_time_ns, vocabulary::wait_time_ns, vocabulary::timeslices> {
  using Fields::Fields;
  static constexpr const char* kName = "schedstat";
  static constexpr Tally kFailures = Tally::Schedstat;
  void fill(const sdk::Thread& thread, std::string_view text);
};

}  // namespace ctprof::procfs
