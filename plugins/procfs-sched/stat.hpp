// Parses /proc/<tgid>/task/<tid>/stat: one line of 52 fields, separated by blanks.
//
// Field 2 is the thread's name in parentheses, without escapes. It may contain blanks, parentheses
// and newlines, so the next field begins after the last ')'. Outside task/ the fault and time
// fields are sums over the process. A field that is missing, or not a number, is Malformed; other
// fields are not affected.

#pragma once

#include <string_view>

#include "ctprof/fields.hpp"
#include "ctprof/host.hpp"
#include "ctprof/text_table.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

// The fields by their numbers in proc_pid_stat(5), starting after the name.
struct StatWords
    : sdk::WordText<3, sdk::WordAside<3, sdk::as_text>,  // the state: one letter
                    sdk::WordAside<9>,                   // flags: PF_* of the kernel
                    sdk::WordLine<vocabulary::minflt, 10>, sdk::WordLine<vocabulary::majflt, 12>,
                    sdk::WordLine<vocabulary::utime_clock_ticks, 14>,
                    sdk::WordLine<vocabulary::stime_clock_ticks, 15>,
                    sdk::WordLine<vocabulary::priority, 18>, sdk::WordLine<vocabulary::nice, 19>,
                    sdk::WordLine<vocabulary::processor, 39>,
                    sdk::WordLine<vocabulary::rt_priority, 40>,
                    sdk::WordAside<41, sdk::number<std::uint32_t>>> {  // the policy's number
  using WordText::WordText;
};
using Stat = StatWords::Values;

Stat parse_stat(std::string_view text);

// Returns whether the stat file is that of a kernel thread or a zombie: neither has memory.
bool has_no_memory(const Stat& stat);

struct StatFile : sdk::Groups<StatWords, sdk::Fields<vocabulary::policy>> {
  using Groups::Groups;
  static constexpr const char* kName = "stat";
  static constexpr Tally kFailures = Tally::Stat;
  void fill(const sdk::Thread& thread, std::string_view text);
};

}  // namespace ctprof::procfs
