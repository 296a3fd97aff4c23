// Tables: assign the members of a record to columns by name.
//
//   struct Schedstat {                                 // filled by a parser
//     sdk::ReadingOf<sdk::MonotonicNs> run_time = Gap::Malformed;
//     sdk::ReadingOf<sdk::MonotonicNs> wait_time = Gap::Malformed;
//     sdk::ReadingOf<sdk::MonotonicCount> timeslices = Gap::Malformed;
//   };
//
//   using SchedstatTable = sdk::Table<sdk::Fill<kRunTime, &Schedstat::run_time>,
//                                     sdk::Fill<kWaitTime, &Schedstat::wait_time>,
//                                     sdk::Fill<kTimeslices, &Schedstat::timeslices>>;
//
//   SchedstatTable columns(batch);
//   columns.put(row, parse_schedstat(text));
//
// A line pairs a metric with a member, so lines can be in any order, and adding or removing one
// affects no other. A member that is a Figure (gap.hpp) must have the newtype of the metric: a
// count in a column of nanoseconds does not compile. Two members of one newtype can still be
// confused. To detect that, test with a record whose values all differ, and check each by the name
// of its metric.
//
// A value that must be computed comes from a function of the record. Its other inputs are passed to
// `put` after the record, and are available to every function that takes them:
//
//   sdk::Figure<sdk::PeakBytes> peak_bytes(const Record& task, const Facts& facts);
//   using Memory = sdk::Table<sdk::Fill<kPeak, peak_bytes>>;
//   memory.put(row, task, facts);
//
// All lines are resolved at compile time: a table costs as much as separate calls of `put`.
//
// A table is also a Fields (fields.hpp): its columns are offered, requested, failed and refused
// together.
//
// Contents:   Fill and Table.
// See also:   text_table.hpp for text with keys and numbers, which needs no struct.

#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "ctprof/fields.hpp"
#include "ctprof/gap.hpp"

namespace ctprof::sdk {

// The compiler's message for a figure of another newtype.
#define CTPROF_SAYS_OTHER_NEWTYPE                                                                  \
  "the newtype of this figure differs from that of the metric that it fills: a line of the table " \
  "has the wrong member, or the wrong metric"

// Whether a value from a record may go into a column of the newtype N. A plain value always may,
// because its newtype is unknown.
template <class N, class From>
inline constexpr bool kFitsNewtype = true;
template <class N, class Other>
inline constexpr bool kFitsNewtype<N, Figure<Other>> = std::is_same_v<N, Other>;
template <class N, class From>
inline constexpr bool kFitsNewtype<N, Reading<From>> = kFitsNewtype<N, From>;

// One line: a metric and the origin of its value. The origin is a member of the record, a function
// of the record, or a function of the record and the further arguments of `put`.
template <const auto& kOf, auto kFrom>
struct Fill {
  static constexpr const auto& kMetric = kOf;
  using MetricType = std::remove_cvref_t<decltype(kOf)>;

  template <class Record, class... More>
  static decltype(auto) of(const Record& record, More&... more) {
    if constexpr (std::is_member_object_pointer_v<decltype(kFrom)>)
      return checked(record.*kFrom);
    else if constexpr (std::is_invocable_v<decltype(kFrom), const Record&, More&...>)
      return checked(kFrom(record, more...));
    else
      return checked(kFrom(record));
  }

 private:
  template <class From>
  static From checked(From figure) {
    static_assert(kFitsNewtype<typename MetricType::Newtype, From>, CTPROF_SAYS_OTHER_NEWTYPE);
    return figure;
  }
};

// Lines whose columns are filled together from one record.
template <class... Lines>
class Table : public Fields<Lines::kMetric...> {
 public:
  using Fields<Lines::kMetric...>::Fields;

  // Fills this row's cell of each line's column. Columns that were not requested are computed as
  // well: use a separate table for expensive values, and check whether it was requested (`if
  // (table)`).
  template <class Record, class... More>
  void put(std::uint32_t row, const Record& record, More&&... more) {
    std::apply([&](auto&... columns) { (columns.put(row, Lines::of(record, more...)), ...); },
               this->columns_);
  }
};

}  // namespace ctprof::sdk
