// /proc/<tgid>/task/<tid>/stat: one line of 52 fields, with blanks between.
//
// Field 2 is the thread's name in parentheses, raw: it may hold blanks, parentheses and newlines,
// so that what follows begins after the last ')'. Outside task/ the fault and time fields are sums
// over the process.

#pragma once

#include <string_view>

#include "ctprof/batch.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/shared/fields.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

// A field that is missing or no number is Malformed, and the others stand.
struct Stat {
  sdk::Reading<std::string_view> state = Gap::Malformed;     // 3: one letter
  sdk::Reading<std::uint64_t> flags = Gap::Malformed;        // 9: PF_* of the kernel
  sdk::Reading<std::uint64_t> minflt = Gap::Malformed;       // 10
  sdk::Reading<std::uint64_t> majflt = Gap::Malformed;       // 12
  sdk::Reading<std::uint64_t> utime = Gap::Malformed;        // 14: in ticks
  sdk::Reading<std::uint64_t> stime = Gap::Malformed;        // 15: in ticks
  sdk::Reading<std::int64_t> priority = Gap::Malformed;      // 18
  sdk::Reading<std::int64_t> nice = Gap::Malformed;          // 19
  sdk::Reading<std::int64_t> processor = Gap::Malformed;     // 39
  sdk::Reading<std::uint64_t> rt_priority = Gap::Malformed;  // 40
  sdk::Reading<std::uint64_t> policy = Gap::Malformed;       // 41
};

Stat parse_stat(std::string_view text);

// Whether the stat file is that of a kernel thread, or of a thread that has ended and waits to be
// collected: neither has memory.
bool has_no_memory(const Stat& stat);

struct StatFile
    : Fields<vocabulary::policy, vocabulary::nice, vocabulary::priority, vocabulary::rt_priority,
             vocabulary::processor, vocabulary::minflt, vocabulary::majflt,
             vocabulary::utime_clock_ticks, vocabulary::stime_clock_ticks> {
  using Fields::Fields;
  static constexpr const char* kName = "stat";
  static constexpr Tally kFailures = Tally::Stat;
  void fill(const sdk::Thread& thread, std::string_view text);
};

}  // namespace ctprof::procfs
