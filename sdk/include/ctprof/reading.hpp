// A reading: a value, or the reason why there is none.
//
//   sdk::Reading<std::uint64_t> children(const sdk::Thread& thread) {
//     const auto text = file_.read(host_, thread, "children");
//     if (!text) return text.gap;                      // the reason goes on as it came
//     return std::uint64_t{count_words(text.value)};
//   }
//
// Return a Reading wherever a value can fail to be there. The caller hands it to `Column::put`
// (batch.hpp) as it is, so there is no error branch to forget, and no zero that means "unknown".
//
// A Figure is a value that also knows its newtype. Put figures into the struct that your parser
// fills, and a table (table.hpp) refuses to put a count into a column of nanoseconds:
//
//   struct Schedstat {
//     sdk::Reading<sdk::Figure<sdk::MonotonicNs>> run_time = Gap::Malformed;
//     sdk::Reading<sdk::Figure<sdk::MonotonicCount>> timeslices = Gap::Malformed;
//   };
//
// Views in a reading (texts, words, entries) are valid only as long as what they point into. Most
// of the time that is the buffer of a TextFile, which the next read overwrites.
//
// What is here:   Reading, Figure, and what a cell of each storage is made of.
// What is not:    the gaps themselves (gap.hpp), columns (batch.hpp).

#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "ctprof/abi.h"
#include "ctprof/gap.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof::sdk {

using Entries = std::span<const ctprof_entry>;  // a map's cells
using Words = std::span<const std::uint64_t>;   // a bitset's words, or an array's numbers

// What a cell of a storage holds, on its way in. Nothing for stacks, which only records bring.
template <ctprof_storage S>
struct CellOf;
template <>
struct CellOf<CTPROF_U64> {
  using type = std::uint64_t;
};
template <>
struct CellOf<CTPROF_I64> {
  using type = std::int64_t;
};
template <>
struct CellOf<CTPROF_F64> {
  using type = double;
};
template <>
struct CellOf<CTPROF_BOOL> {
  using type = bool;
};
template <>
struct CellOf<CTPROF_STRING> {
  using type = std::string_view;
};
template <>
struct CellOf<CTPROF_BITSET> {
  using type = Words;
};
template <>
struct CellOf<CTPROF_MAP> {
  using type = Entries;
};
template <>
struct CellOf<CTPROF_ARRAY> {
  using type = Words;
};

// A value with its newtype. It converts to and from the bare value without a word, and to no other
// figure: bare numbers get their meaning once, where they are read, and keep it.
//
// It is as large as the value and has the same layout, so a struct that a kernel program fills with
// plain 64-bit numbers may declare them as figures on the C++ side.
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

  constexpr explicit operator bool() const { return gap == Gap::None; }
};

template <class T>
inline constexpr bool kIsReading = false;
template <class T>
inline constexpr bool kIsReading<Reading<T>> = true;

// A reading of a newtype; what most members of a parser's struct are.
template <class N>
using ReadingOf = Reading<Figure<N>>;

}  // namespace ctprof::sdk
