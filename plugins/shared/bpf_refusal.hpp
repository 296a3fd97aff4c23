// Why BPF programs are not to be had on this host, in one sentence, and what would change that.
//
//   if (const BpfRefusal why = unsuitable_for_bpf(host); why.gap != Gap::None) ...
//   if (!load(error)) return why_refused(host, kPrograms, error);
//
// Some of the kernel's answers to too little privilege are its words for a program that it does not
// understand; and it has the same words for being too old and for being told to refuse. So what the
// process may, and the kernel's release, are looked at before its answer is put into words.

#pragma once

#include <string>
#include <string_view>

#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"

namespace ctprof {

struct BpfRefusal {
  Gap gap = Gap::None;
  std::string why;
  sdk::Remedy remedy;
};

// What somebody wants to load.
struct BpfPrograms {
  std::string_view what;          // "the BPF program that lists threads"
  std::string_view capabilities;  // all that they need, as for a file: "cap_bpf,cap_perfmon"
  std::string_view first;         // the first release that takes them: "5.17"
  std::string_view newer;         // the same for `ctprof doctor`: "Linux 5.17 or newer"
};

// What is wrong before the kernel is asked, or Gap::None. Reads files only.
BpfRefusal unsuitable_for_bpf(const sdk::Host& host);

// Whether this process has what loading and attaching ask for. True too when that cannot be found
// out.
bool may_load_bpf();

// Whether this process cannot get the memory that loading takes: libbpf reads the kernel's types
// into memory, and answers ESRCH or ENOENT if it cannot.
bool lacks_memory_for_bpf(const sdk::Host& host);

// Why the kernel answered with this errno.
BpfRefusal why_refused(const sdk::Host& host, const BpfPrograms& programs, int error);
// The same of who may load, on a kernel of this release.
BpfRefusal why_not_taken(const BpfPrograms& programs, int error, std::string_view release);

}  // namespace ctprof
