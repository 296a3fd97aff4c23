// How far the probe of a thread or a process came, which step failed, and the gap for its cells.
//
// Contains the steps in their order, their names in the file (the reference's), and the gaps.
// See also: thread_pointer_reader.hpp and counter_reader.hpp for the steps, finder/ for finding the
// counters.

#pragma once

#include <cerrno>
#include <cstdint>

#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"

namespace ctprof::jemalloc {

enum class ProbeStep : std::uint8_t {
  Done,
  Seize,
  Interrupt,
  Wait,
  GetRegset,
  TlsArithmetic,  // the counters' address is outside of the address space: the thread has no
                  // thread-local storage
  ReadMemory,
};

struct Outcome {
  ProbeStep failed_step = ProbeStep::Done;  // the step that failed; Done: none
  int error = 0;                            // errno of the failure
};

constexpr const char* find_status_tag(ProbeStep step) {
  switch (step) {
    case ProbeStep::Done: return "done";
    case ProbeStep::Seize: return "ptrace-seize";
    case ProbeStep::Interrupt: return "ptrace-interrupt";
    case ProbeStep::Wait: return "waitpid";
    case ProbeStep::GetRegset: return "get-regset";
    case ProbeStep::TlsArithmetic: return "tls-arithmetic";
    case ProbeStep::ReadMemory: break;
  }
  return "process-vm-readv";
}

// If the address or the memory does not exist although the thread does, its thread-local storage
// has another form than expected.
constexpr Gap gap_of(const Outcome& outcome) {
  if (outcome.failed_step == ProbeStep::Done) return Gap::None;
  if (outcome.failed_step == ProbeStep::TlsArithmetic) return Gap::NotApplicable;
  return outcome.error == EFAULT ? Gap::Malformed : gap_of_errno(outcome.error);
}

// Returns None for FindStatus::Found.
Gap gap_of(const FindResult& found);

// Returns the gap after a failed PTRACE_SEIZE. The kernel returns EPERM for missing privileges, and
// also for a thread that another tracer has attached to or that has just exited.
Gap gap_of_failed_seize(const sdk::Host& host, const sdk::Thread& thread, int error);

}  // namespace ctprof::jemalloc
