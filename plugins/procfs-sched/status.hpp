// /proc/<tgid>/task/<tid>/status: lines `Key:\tvalue`.
//
// The kernel escapes newlines in the name here, so that no line can be forged by one.

#pragma once

#include <string_view>

#include "ctprof/batch.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/shared/fields.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

// Views into the text. A line that is missing or cannot be understood is Malformed.
struct Status {
  sdk::Reading<std::string_view> state = Gap::Malformed;  // one letter
  sdk::Reading<std::uint64_t> threads = Gap::Malformed;
  sdk::Reading<std::uint64_t> voluntary_csw = Gap::Malformed;
  sdk::Reading<std::uint64_t> nonvoluntary_csw = Gap::Malformed;
  sdk::Reading<std::string_view> cpus_allowed = Gap::Malformed;  // a list such as "0-3,8"
};

Status parse_status(std::string_view text);

// Threads is the whole process's figure: it goes to the leader's row, and applies to no other.
struct StatusFile : Fields<vocabulary::state, vocabulary::nr_threads, vocabulary::voluntary_csw,
                           vocabulary::nonvoluntary_csw> {
  using Fields::Fields;
  static constexpr const char* kName = "status";
  static constexpr Tally kFailures = Tally::Status;
  void fill(const sdk::Thread& thread, const Status& status);
};

}  // namespace ctprof::procfs
