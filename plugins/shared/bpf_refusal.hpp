// Explains in one sentence why BPF programs are unavailable on this host, with the remedy.
//
//   if (const BpfRefusal why = check_host_for_bpf(host); why.gap != Gap::None) ...
//   if (!load(error)) return explain_bpf_refusal(host, kPrograms, error);
//
// The kernel returns the same errors for missing privileges and for a program that it does not
// understand, and the same errors if it is too old and if a policy forbids the program. Therefore
// the functions check the capabilities of the process and the kernel's release before they
// interpret an error.

#pragma once

#include <string>
#include <string_view>

#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"

namespace ctprof {

struct BpfRefusal {
  Gap gap = Gap::None;
  std::string reason;
  sdk::Remedy remedy;
};

// The BPF programs that a plugin loads.
struct BpfPrograms {
  std::string_view description;       // "the BPF program that lists threads"
  std::string_view capabilities;      // all capabilities that they need, in the syntax of setcap:
                                      // "cap_bpf,cap_perfmon"
  std::string_view first_release;     // the first release that supports them: "5.17"
  std::string_view required_release;  // the same for `ctprof doctor`: "Linux 5.17 or newer"
};

// Returns the reason that is known before loading, or Gap::None. Only reads files.
BpfRefusal check_host_for_bpf(const sdk::Host& host);

// Returns whether this process has the capabilities for loading and attaching; also true if that
// cannot be determined.
bool can_load_bpf();

// Returns whether this process cannot get the memory that loading needs: libbpf reads the kernel's
// types into memory, and returns ESRCH or ENOENT if it cannot.
bool lacks_memory_for_bpf(const sdk::Host& host);

// Explains this errno of the kernel.
BpfRefusal explain_bpf_refusal(const sdk::Host& host, const BpfPrograms& programs, int error);
// Does the same for a process that has the capabilities, on a kernel of this release.
BpfRefusal explain_kernel_refusal(const BpfPrograms& programs, int error, std::string_view release);

}  // namespace ctprof
