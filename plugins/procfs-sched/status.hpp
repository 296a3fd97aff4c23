// Parses /proc/<tgid>/task/<tid>/status: lines `Key:<tab>value`; and reads the CPUs that a thread
// may run on, from sched_getaffinity(2) or from this file.
//
// The kernel escapes newlines in the name here, so a name cannot forge a line. Text values are
// views into the file's text; a line that is missing or malformed makes its value Malformed.
//
// The system call is cheaper than the line Cpus_allowed_list and needs no file, but only accepts
// thread ids of our own PID namespace. It omits offline CPUs, which the line contains.

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

// Returns the letter of the state, from text such as "S (sleeping)".
sdk::ReadingOf<sdk::Char> parse_state_letter(std::string_view text);

struct StatusFile
    : sdk::KeyedText<':', sdk::KeyLine<vocabulary::state, "State", parse_state_letter>,
                     sdk::KeyLine<vocabulary::nr_threads, "Threads">,
                     sdk::KeyAside<"Cpus_allowed_list", sdk::as_text>,  // a list such as "0-3,8"
                     sdk::KeyLine<vocabulary::voluntary_csw, "voluntary_ctxt_switches">,
                     sdk::KeyLine<vocabulary::nonvoluntary_csw, "nonvoluntary_ctxt_switches">> {
  using KeyedText::KeyedText;
  static constexpr const char* kName = "status";
  static constexpr Tally kFailures = Tally::Status;
  // Threads is a value of the whole process: it fills the leader's row, and is NotApplicable to
  // other threads.
  void fill(const sdk::Thread& thread, Values status);
};
using Status = StatusFile::Values;

using AffinityField = sdk::Fields<vocabulary::cpu_affinity>;

// Reads masks into a buffer of its own; a result is valid until the next call. Each worker has one
// object.
class Affinity {
 public:
  // Uses the system call. Returns ThreadGone if the thread exited; after another gap the status
  // line may have the value.
  sdk::Reading<sdk::Words> read_thread_mask(std::uint64_t tid);
  // Parses the value of Cpus_allowed_list.
  sdk::Reading<sdk::Words> parse_cpu_mask(const sdk::Reading<std::string_view>& list);

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace ctprof::procfs
