// Remedies: what would change what a host lacks, for `ctprof doctor`.
//
// Four kinds, so that programs can act on them. Only what is known to help is a remedy; where
// nothing does, there is none.
//
// A remedy must be true on the host in question: where the option cannot be switched on by a
// command name the kernel option, and where it is not known what would help, name nothing.
//
// What is here:   the kinds, each made by a function of its name.
// What is not:    handing them over (Probe, host.hpp); the numbers, which are the ABI's (abi.h).

#pragma once

#include <string_view>

#include "ctprof/abi.h"

namespace ctprof::sdk {

// A view: it is copied when it is handed over. Made by one of the functions below and passed as the
// last argument of Probe::refuse and Probe::lacks.
struct Remedy {
  ctprof_remedy kind = CTPROF_REMEDY_NONE;
  std::string_view what;
};

// A command for root's shell, to be pasted as it is: "sysctl -w kernel.sched_schedstats=1".
constexpr Remedy by_command(std::string_view command) { return {CTPROF_REMEDY_COMMAND, command}; }

// Capabilities that ctprof lacks, with commas between: "cap_bpf,cap_perfmon". Whom to give them,
// and how, ctprof knows.
constexpr Remedy by_capabilities(std::string_view names) {
  return {CTPROF_REMEDY_CAPABILITIES, names};
}

// Words on the kernel's command line: "psi=1", "without nodelayacct".
constexpr Remedy by_boot(std::string_view words) { return {CTPROF_REMEDY_BOOT, words}; }

// Another kernel: "CONFIG_SCHEDSTATS=y", "Linux 6.12 or newer".
constexpr Remedy by_kernel(std::string_view which) { return {CTPROF_REMEDY_KERNEL, which}; }

}  // namespace ctprof::sdk
