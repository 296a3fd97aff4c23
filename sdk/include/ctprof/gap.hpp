// Gaps and readings: a cell contains either a value or exactly one reason why there is none.
//
// Zero means zero. Unsupported (not available on this host), Denied (not permitted), ThreadGone
// (exited) and Malformed (not parseable) remain distinct from the system call to the report.
//
// A Reading is a value or its gap:
//
//   sdk::Reading<std::uint64_t> children(const sdk::Thread& thread) {
//     const auto text = file_.read(host_, thread, "children");
//     if (!text) return text.gap;                      // passes the gap on
//     return std::uint64_t{count_words(text.value)};
//   }
//
// Return a Reading wherever a value may be missing. The caller passes it unchanged to `Column::put`
// (batch.hpp), so no error branch can be forgotten, and no zero can mean "unknown".
//
// A Figure is a value with its newtype. Use figures in the struct that your parser fills, and a
// table (table.hpp) rejects a count in a column of nanoseconds:
//
//   struct Schedstat {
//     sdk::Reading<sdk::Figure<sdk::MonotonicNs>> run_time = Gap::Malformed;
//     sdk::Reading<sdk::Figure<sdk::MonotonicCount>> timeslices = Gap::Malformed;
//   };
//
// Views in a reading (texts, words, entries) are valid only as long as the data that they point to,
// usually the buffer of a TextFile, which the next read overwrites.
//
// No function returns a value "or zero". If a metric is computed from two others and one of them is
// missing, return its gap:
//
//   if (!sleep) return sleep.gap;
//   if (!block) return block.gap;
//   return sleep.value - block.value;
//
// Contents:   the gaps, their names, the gap for each errno; Reading, Figure, and the types of
//             cells for each storage.
// See also:   abi.h for the numbers of gaps, which are part of the ABI and stored in files;
//             batch.hpp for columns.

#pragma once

#include <array>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "ctprof/abi.h"
#include "ctprof/newtypes.hpp"

namespace ctprof {

// Choose the gap by the action that it requires from the reader of a report:
//
//   NotApplicable   none, the metric does not apply here
//   ThreadGone      none
//   Denied          run ctprof with more rights
//   Unsupported     run another kernel
//   SwitchedOff     change a setting
//   PredatesSwitch  restart the program
//   Malformed       report a bug, in your parser or in the kernel
//   Busy            try again
//   SourceFailed    read the message of the source
//
// Only the core uses Untouched, NotInFile, NoBase and WentBackwards. A lister uses Unseen to leave
// a cell to the next source.
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

// The names of all gaps, by number. A new gap needs a number in abi/cells.h, an enumerator above
// and a name here; abi_layout_test checks that the three agree.
inline constexpr std::array<std::string_view, 15> kGapNames{
    "None",         "Untouched",   "NotApplicable",  "ThreadGone", "Denied",
    "Unsupported",  "SwitchedOff", "PredatesSwitch", "Malformed",  "Busy",
    "SourceFailed", "NotInFile",   "Unseen",         "NoBase",     "WentBackwards"};

// Returns the name of a gap in files and reports. REQUIRES: a gap of the table.
constexpr std::string_view name(Gap gap) { return kGapNames[static_cast<std::size_t>(gap)]; }

// Whether a source may write the gap `number`: it is in the table and not reserved for the core.
constexpr bool may_be_written(ctprof_gap number) {
  return (number < CTPROF_NOT_IN_FILE && number != CTPROF_UNTOUCHED) || number == CTPROF_UNSEEN;
}

// Returns the gap for the errno of a failed read of a thread's file during a capture. Probing has
// already determined what the kernel lacks, so a missing file means that the thread exited.
//   ENOENT, ESRCH                    ThreadGone
//   EACCES, EPERM                    Denied
//   EBUSY, EAGAIN, ETIMEDOUT         Busy
//   EINVAL, ENOSYS, EOPNOTSUPP, ...  Unsupported
//   anything else                    SourceFailed
//
// For files of the whole host, one case differs: ENOENT means that the kernel does not provide the
// file. Convert ThreadGone to Unsupported there.
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

namespace ctprof::sdk {

using Entries = std::span<const ctprof_entry>;  // a map's cells
using Words = std::span<const std::uint64_t>;   // a bitset's words, or an array's numbers

// The type of a cell's value for each storage, none for stacks, which only records deliver. These
// are the types that `Column::put` takes and `Input::at` returns: 64-bit integers, double, bool,
// and views for larger values.
template <ctprof_storage S>
struct CellOf {
  using type = std::tuple_element_t<S, std::tuple<std::uint64_t, std::int64_t, double, bool,
                                                  std::string_view, Words, Entries, Words>>;
};

// A value with its newtype. It converts implicitly to and from the plain value, but not to another
// figure: a plain number gets its newtype once, where it is read, and keeps it.
//
// It is as large as the value and has the same layout, so a struct that a kernel program fills with
// plain 64-bit numbers may declare them as figures on the C++ side.
//   sdk::Figure<sdk::MonotonicNs> ran = stat.run_time;    // states the newtype
//   std::uint64_t ticks = ran / ns_per_tick;              // and converts to a number
//
// Arithmetic does not preserve the newtype: a sum or a quotient is a plain number, and the code
// that makes a figure from it states the new type.
template <class N>
struct Figure {
  using Newtype = N;
  using Value = typename CellOf<N::kInfo->storage>::type;

  Figure() = default;
  constexpr Figure(Value known) : value(known) {}  // NOLINT: implicit on purpose
  constexpr operator Value() const { return value; }

  Value value;
};

template <class T>
inline constexpr bool kIsFigure = false;
template <class N>
inline constexpr bool kIsFigure<Figure<N>> = true;

// Whether a value of type `From` can be converted to `To` without losing its sign or its fraction.
// An unsigned cell takes unsigned integers, a signed one any integer that fits, a double any
// number that it represents exactly, a bool only a bool. Views and figures take any type that
// converts to them.
//   keeps_value<unsigned, std::uint64_t>()        true
//   keeps_value<int, std::uint64_t>()             false: -1 would be a very large number
//   keeps_value<double, std::uint64_t>()          false
//   keeps_value<int, double>()                    true
//   keeps_value<std::uint64_t, double>()          false: digits beyond 2^53 would be lost
template <class From, class To>
constexpr bool keeps_value() {
  if constexpr (!std::is_arithmetic_v<From> || !std::is_arithmetic_v<To>)
    return std::is_convertible_v<From, To>;
  else if constexpr (std::is_same_v<From, bool> || std::is_same_v<To, bool>)
    return std::is_same_v<From, To>;
  else if constexpr (std::is_floating_point_v<To>)
    return sizeof(From) <= (std::is_floating_point_v<From> ? sizeof(To) : sizeof(To) / 2);
  else if constexpr (std::is_floating_point_v<From>)
    return false;
  else if constexpr (std::is_unsigned_v<To>)
    return std::is_unsigned_v<From> && sizeof(From) <= sizeof(To);
  else
    return sizeof(From) < sizeof(To) || (std::is_signed_v<From> && sizeof(From) == sizeof(To));
}

// The compiler's message for other values.
#define CTPROF_SAYS_VALUE_CHANGES                                                                \
  "this value would lose its sign or its fraction in a cell of this kind: convert it where you " \
  "know what it means, and put a gap where it has no meaning"

// A value or a gap. Test it before you use `value`, which is zero or empty if there is a gap; `gap`
// is None if there is a value.
//
// Copying is cheap, and a reading owns nothing. Conversion is implicit: `return 5u;` and `return
// Gap::Denied;` both work in a function that returns a `Reading<std::uint64_t>`.
template <class T>
struct Reading {
  using Value = T;

  T value{};
  Gap gap = Gap::None;

  constexpr Reading(T known) : value(known) {}  // NOLINT: implicit on purpose
  constexpr Reading(Gap why) : gap(why) {}      // NOLINT: implicit on purpose
  // From a type that converts to T: the plain value of a figure, a vector for a span.
  template <class From>
  requires(!std::is_same_v<From, T> &&
           std::is_convertible_v<From, T>) constexpr Reading(const From& known)
      : value(known) {  // NOLINT: implicit on purpose
    static_assert(keeps_value<From, T>(), CTPROF_SAYS_VALUE_CHANGES);
  }
  // The same reading, with or without its newtype.
  template <class From>
  requires(!std::is_same_v<From, T> && std::is_convertible_v<From, T>) constexpr Reading(
      const Reading<From>& other)  // NOLINT: implicit on purpose
      : value(other.value), gap(other.gap) {
    static_assert(keeps_value<From, T>(), CTPROF_SAYS_VALUE_CHANGES);
  }

  // Whether there is a value.
  constexpr explicit operator bool() const { return gap == Gap::None; }
};

// Whether a type is a Reading, for templates that accept values and readings.
template <class T>
inline constexpr bool kIsReading = false;
template <class T>
inline constexpr bool kIsReading<Reading<T>> = true;

// A reading with a newtype, the usual member type of a parser's struct. Initialize each member with
// the gap that applies if the parser does not find the value:
//
//   sdk::ReadingOf<sdk::Bytes> read_bytes = Gap::Malformed;       // every kernel prints it
//   sdk::ReadingOf<sdk::GaugeNs> slice = Gap::Unsupported;        // some kernels print it
template <class N>
using ReadingOf = Reading<Figure<N>>;

}  // namespace ctprof::sdk
