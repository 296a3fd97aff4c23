// Makes a snapshot or window one that can be given away: its figures are as they were, and whoever
// runs on the host is told by pseudonyms.
//
// Pseudonyms: names of processes, threads and cgroups, texts and keys that the vocabulary does not
// know, paths and build ids of modules, functions of user code, the host's name, its boot, its
// command line, and whatever else its context says in words but what the machine and kernel are.
// Left out: sentences of sources, objects and members that nobody has vetted; addresses of the
// kernel and of generated code, in place of which there are numbers (core/stacks/hidden_offsets).
// Kept: figures, times, ids of threads, functions of the kernel, words of kernels (SCHED_FIFO).
//
// Rows of cgroups take the order of their new names.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/redact/pseudonyms.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct Redacted {
  std::size_t names = 0;     // cells of texts, functions and modules with a pseudonym now
  std::size_t left_out = 0;  // sentences, objects and members
};

// `known` vouches for what its metrics' texts and keys are.
Redacted redact(Snapshot& snapshot, const Vocabulary& known, Pseudonyms& pseudonyms);

// The JSON with pseudonyms for all texts but keys, numbers in quotes, and what says what the
// machine and the kernel are.
std::string redacted_json(std::string_view json, Pseudonyms& pseudonyms);

}  // namespace ctprof
