// Gaps: why a cell holds no value.
//
// A cell is a value or exactly one gap. Zero means zero; "cannot here" (Unsupported), "may not"
// (Denied), "was gone" (ThreadGone) and "unreadable" (Malformed) stay four words from the system
// call to the report.
//
// What is here:   the words, their names, and which errno means which.
// What is not:    the numbers, which are the ABI's (abi.h) and reach the file.

#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "ctprof/abi.h"

namespace ctprof {

// Choose by what the reader of a report can do about it:
//
//   NotApplicable   nothing, the question has no meaning here
//   ThreadGone      nothing, threads end
//   Denied          run ctprof with more rights
//   Unsupported     run another kernel
//   SwitchedOff     turn a switch
//   PredatesSwitch  restart the program
//   Malformed       report a bug, in your parser or in the kernel
//   Busy            try again
//   SourceFailed    read the sentence that came with it
//
// Untouched, NotInFile, NoBase and WentBackwards are the core's own. Unseen is for listers, which
// leave a cell to the next source with it.
enum class Gap : ctprof_gap {
  None = CTPROF_VALUE,
  Untouched = CTPROF_UNTOUCHED,
  NotApplicable = CTPROF_NOT_APPLICABLE,
  ThreadGone = CTPROF_THREAD_GONE,
  Denied = CTPROF_DENIED,
  Unsupported = CTPROF_UNSUPPORTED,
  SwitchedOff = CTPROF_SWITCHED_OFF,
  PredatesSwitch = CTPROF_PREDATES_SWITCH,
  Malformed = CTPROF_MALFORMED,
  Busy = CTPROF_BUSY,
  SourceFailed = CTPROF_SOURCE_FAILED,
  NotInFile = CTPROF_NOT_IN_FILE,
  Unseen = CTPROF_UNSEEN,
  NoBase = CTPROF_NO_BASE,
  WentBackwards = CTPROF_WENT_BACKWARDS,
};

// A new gap needs a number in abi/cells.h, a word above and a name here; abi_layout_test keeps the
// three together.
// Names by number; the table of all gaps.
inline constexpr std::array<std::string_view, 15> kGapNames{
    "None",         "Untouched",   "NotApplicable",  "ThreadGone", "Denied",
    "Unsupported",  "SwitchedOff", "PredatesSwitch", "Malformed",  "Busy",
    "SourceFailed", "NotInFile",   "Unseen",         "NoBase",     "WentBackwards"};

// The gap as files and reports spell it. REQUIRES: one of the table.
constexpr std::string_view name(Gap gap) { return kGapNames[static_cast<std::size_t>(gap)]; }

// Whether `number` is a gap that a source may write: neither beyond the table nor one of the core's
// own.
constexpr bool may_be_written(ctprof_gap number) {
  return (number < CTPROF_NOT_IN_FILE && number != CTPROF_UNTOUCHED) || number == CTPROF_UNSEEN;
}

// What the errno of a failed read of a thread's file means during a capture. Probing has settled
// what the kernel lacks, so a file that is missing now went away with its thread.
//   ENOENT, ESRCH                    ThreadGone
//   EACCES, EPERM                    Denied
//   EBUSY, EAGAIN, ETIMEDOUT         Busy
//   EINVAL, ENOSYS, EOPNOTSUPP, ...  Unsupported
//   anything else                    SourceFailed
//
// For files of the whole host this is wrong in one place: nothing goes away there, and ENOENT means
// that the kernel does not have it. Map that to Unsupported yourself.
constexpr Gap gap_of_errno(int error) {
  switch (error) {
    case ENOENT:
    case ESRCH: return Gap::ThreadGone;
    case EACCES:
    case EPERM: return Gap::Denied;
    case EBUSY:
    case EAGAIN:
    case ETIMEDOUT: return Gap::Busy;
    case EINVAL:
    case ENOSYS:
    case EOPNOTSUPP:
    case ENODEV: return Gap::Unsupported;
    default: return Gap::SourceFailed;
  }
}

}  // namespace ctprof
