// Gaps and readings: a cell is a value, or exactly one reason why there is none.
//
// Zero means zero; "cannot here" (Unsupported), "may not" (Denied), "was gone" (ThreadGone) and
// "unreadable" (Malformed) stay four words from the system call to the report.
//
// A Reading is a value, or its gap:
//
//   sdk::Reading<std::uint64_t> children(const sdk::Thread& thread) {
//     const auto text = file_.read(host_, thread, "children");
//     if (!text) return text.gap;                      // passes the reason on
//     return std::uint64_t{count_words(text.value)};
//   }
//
// Return a Reading wherever there may be no value. The caller hands it to `Column::put` (batch.hpp)
// as it is, so there is no error branch to forget, and no zero that means "unknown".
//
// A Figure is a value that also knows its newtype. Put figures into the struct that your parser
// fills, and a table (table.hpp) refuses to put a count into a column of nanoseconds:
//
//   struct Schedstat {
//     sdk::Reading<sdk::Figure<sdk::MonotonicNs>> run_time = Gap::Malformed;
//     sdk::Reading<sdk::Figure<sdk::MonotonicCount>> timeslices = Gap::Malformed;
//   };
//
// Views in a reading (texts, words, entries) are valid only as long as what they point into, which
// is mostly the buffer of a TextFile: the next read overwrites it.
//
// There is no way to ask for a value "or zero". If your figure is computed from two others and one
// is not known, neither is yours: return its gap.
//
//   if (!sleep) return sleep.gap;
//   if (!block) return block.gap;
//   return sleep.value - block.value;
//
// What is here:   the gaps, their names, and which errno means which; Reading, Figure, and what a
//                 cell of each storage is made of.
// What is not:    the numbers of gaps, which are the ABI's (abi.h) and reach the file; columns
//                 (batch.hpp).

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

// Names by number; the table of all gaps. A new gap needs a number in abi/cells.h, a word above and
// a name here; abi_layout_test keeps the three together.
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

namespace ctprof::sdk {

using Entries = std::span<const ctprof_entry>;  // a map's cells
using Words = std::span<const std::uint64_t>;   // a bitset's words, or an array's numbers

// What a cell of a storage holds, on its way in. Nothing for stacks, which only records bring.
// The types are those that `Column::put` takes and `Input::at` gives: integers of 64 bits, double,
// bool, and views for all that is larger.
template <ctprof_storage S>
struct CellOf {
  using type = std::tuple_element_t<S, std::tuple<std::uint64_t, std::int64_t, double, bool,
                                                  std::string_view, Words, Entries, Words>>;
};

// A value with its newtype. It converts to and from the bare value implicitly, and to no other
// figure: bare numbers get their meaning once, where they are read, and keep it.
//
// It is as large as the value and has the same layout, so a struct that a kernel program fills with
// plain 64-bit numbers may declare them as figures on the C++ side.
//   sdk::Figure<sdk::MonotonicNs> ran = stat.run_time;    // says what it is
//   std::uint64_t ticks = ran / ns_per_tick;              // and is a number all the same
//
// There is no arithmetic that keeps the newtype: what comes out of a sum or a quotient is a bare
// number, and whoever makes a figure of it again says what it is now.
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

// Whether a value of type `From` can become a `To` without losing its sign or its fraction. An
// unsigned cell takes unsigned integers, a signed one any integer that fits, a double any number
// that it holds exactly, a bool nothing but a bool. Views and figures take what converts to them.
//   keeps_value<unsigned, std::uint64_t>()        true
//   keeps_value<int, std::uint64_t>()             false: -1 would be a very large number
//   keeps_value<double, std::uint64_t>()          false
//   keeps_value<int, double>()                    true
//   keeps_value<std::uint64_t, double>()          false: beyond 2^53 digits would be lost
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

// The sentence with which the compiler refuses other values.
#define CTPROF_SAYS_VALUE_CHANGES                                                                \
  "this value would lose its sign or its fraction in a cell of this kind: convert it where you " \
  "know what it means, and put a gap where it has no meaning"

// A value, or why there is none. Test it before you use `value`, which is zero or empty where there
// is a gap; `gap` is None where there is a value.
//
// Copying is cheap and nothing is owned. Conversion is implicit: `return 5u;` and `return
// Gap::Denied;` are both fine in a function that returns a `Reading<std::uint64_t>`.
template <class T>
struct Reading {
  using Value = T;

  T value{};
  Gap gap = Gap::None;

  constexpr Reading(T known) : value(known) {}  // NOLINT: implicit on purpose
  constexpr Reading(Gap why) : gap(why) {}      // NOLINT: implicit on purpose
  // What becomes a T: the bare value of a figure, a vector for a span.
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

// Which of the two a type is, for templates that take any of them.
template <class T>
inline constexpr bool kIsReading = false;
template <class T>
inline constexpr bool kIsReading<Reading<T>> = true;

// A reading of a newtype; what most members of a parser's struct are. Begin each with the gap that
// holds when the parser does not come across it:
//
//   sdk::ReadingOf<sdk::Bytes> read_bytes = Gap::Malformed;       // every kernel prints it
//   sdk::ReadingOf<sdk::GaugeNs> slice = Gap::Unsupported;        // some do
template <class N>
using ReadingOf = Reading<Figure<N>>;

}  // namespace ctprof::sdk
