// /proc/<tgid>/task/<tid>/status: lines `Key:\tvalue`; and on which CPUs a thread may run, which
// sched_getaffinity(2) or this file tells.
//
// The kernel escapes newlines in the name here, so a name cannot forge a line. Values that are
// texts are views into the file's; a line that is missing or malformed makes its value Malformed.
//
// The system call is cheaper than the line Cpus_allowed_list and needs no file, but takes only
// thread ids of our own PID namespace. It leaves out offline CPUs, which the line keeps.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/fields.hpp"
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
  // Threads is a figure of the whole process: it fills the leader's row, and applies to no other.
  void fill(const sdk::Thread& thread, Values status);
};
using Status = StatusFile::Values;

using AffinityField = sdk::Fields<vocabulary::cpu_affinity>;

// Reads masks into a buffer that it keeps; what it returns is valid until the next call. One per
// worker.
class Affinity {
 public:
  // By the system call: ThreadGone, or another gap where the status line may tell more.
  sdk::Reading<sdk::Words> of_thread(std::uint64_t tid);
  // From the value of Cpus_allowed_list.
  sdk::Reading<sdk::Words> of_list(const sdk::Reading<std::string_view>& list);

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace ctprof::procfs
