// How far the probe of a thread or a process came, what stopped it, and what that means for its
// cells.
//
// What is here:   the steps in their order, their words in the file (the reference's), and the
// gaps. What is not:    taking the steps: thread_pointers.hpp and counters_read.hpp; finding the
// counters:
//                 finder/.

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
  TlsArithmetic,  // the counters' address lies outside of the address space: the thread has no
                  // thread-local storage
  ReadMemory,
};

struct Outcome {
  ProbeStep failed = ProbeStep::Done;  // the step that failed; Done: none
  int error = 0;                       // its errno
};

constexpr const char* tag(ProbeStep step) {
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

// Where the address or the memory is not there although the thread is, its thread-local storage is
// not what we took it for.
constexpr Gap gap_of(const Outcome& outcome) {
  if (outcome.failed == ProbeStep::Done) return Gap::None;
  if (outcome.failed == ProbeStep::TlsArithmetic) return Gap::NotApplicable;
  return outcome.error == EFAULT ? Gap::Malformed : gap_of_errno(outcome.error);
}

// None for Attach::Found.
Gap gap_of(const Found& found);

// What it means that PTRACE_SEIZE failed. The kernel says EPERM for too little privilege, and also
// for a thread that another tracer holds or that has just ended.
Gap why_refused(const sdk::Host& host, const sdk::Thread& thread, int error);

}  // namespace ctprof::jemalloc
