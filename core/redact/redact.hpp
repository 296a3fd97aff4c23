// Redacts a snapshot or window, so that it can be passed on: values stay unchanged, and names are
// replaced by pseudonyms.
//
// Pseudonyms replace names of processes, threads and cgroups; texts and keys that the vocabulary
// does not know; paths and build ids of modules; functions of user code and offsets in files; the
// host name, boot id and command line; and all other texts of the host's context, except those that
// describe machine and kernel.
//
// Removed: messages of sources; unknown objects and members; addresses of the kernel and of
// generated code, which are replaced by numbers (core/stacks/hidden_offsets).
//
// Kept: values, times, thread ids, functions of the kernel, texts of the kernel (SCHED_FIFO).
//
// Rows of cgroups are sorted by their new names.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/redact/pseudonyms.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The number of redactions.
struct RedactionCounts {
  std::size_t names = 0;          // cells, functions and modules that have a pseudonym now
  std::size_t removed_items = 0;  // removed messages, objects and members
};

// Redacts the snapshot. `vocabulary` defines the metrics whose texts and keys are safe to keep.
RedactionCounts redact(Snapshot& snapshot, const Vocabulary& vocabulary, Pseudonyms& pseudonyms);

// Returns the JSON with pseudonyms for all texts, except keys, numbers in quotes, and descriptions
// of machine and kernel.
std::string redact_json(std::string_view json, Pseudonyms& pseudonyms);

}  // namespace ctprof
