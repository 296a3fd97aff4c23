// Summarizes in one line what the recorder of a snapshot could not read for lack of capabilities,
// instead of a note for each source.
//
//   cannot read exited threads, 36 metrics and values of other users' processes: Permission denied
//
// A denial that capabilities do not change (a security module, a seccomp profile, lockdown,
// kernel.yama.ptrace_scope=3) keeps its own note, because the note is the only explanation.

#pragma once

#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct DividedNotes {
  std::string summary;              // the summary, without a remedy; empty if it replaces no note
  std::vector<std::string> others;  // the notes that the summary does not replace, in order
};

DividedNotes divide_notes(const Snapshot& snapshot);

}  // namespace ctprof
