// /proc/<tgid>/task/<tid>/status: lines `Key:\tvalue`.
//
// The kernel escapes newlines in the name here, so that no line can be forged by one. Values that
// are texts are views into the file's; a line that is missing or cannot be understood is Malformed.

#pragma once

#include <string_view>

#include "ctprof/host.hpp"
#include "ctprof/text_table.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

// The one letter that says the state, of "S (sleeping)".
sdk::ReadingOf<sdk::Char> state_letter(std::string_view text);

struct StatusFile
    : sdk::KeyedText<':', sdk::KeyLine<vocabulary::state, "State", state_letter>,
                     sdk::KeyLine<vocabulary::nr_threads, "Threads">,
                     sdk::KeyAside<"Cpus_allowed_list", sdk::as_text>,  // a list such as "0-3,8"
                     sdk::KeyLine<vocabulary::voluntary_csw, "voluntary_ctxt_switches">,
                     sdk::KeyLine<vocabulary::nonvoluntary_csw, "nonvoluntary_ctxt_switches">> {
  using KeyedText::KeyedText;
  static constexpr const char* kName = "status";
  static constexpr Tally kFailures = Tally::Status;
  // Threads is the whole process's figure: it goes to the leader's row, and applies to no other.
  void fill(const sdk::Thread& thread, Values status);
};
using Status = StatusFile::Values;

}  // namespace ctprof::procfs
