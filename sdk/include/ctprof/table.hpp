// Tables: which column is filled from what, by name.
//
//   struct Schedstat {                                 // what a parser fills
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
// A line pairs a metric with the member that it comes from, so lines can be in any order, and
// adding or removing one moves no other. A member that is a Figure (gap.hpp) has to be
// of the metric's newtype: a count in a column of nanoseconds does not compile. Two members of one
// newtype can still be confused. A test with a record whose values all differ, and expectations by
// the metrics' names, finds that.
//
// A figure that has to be computed comes from a function of the record. What else it needs is
// passed to `put` behind the record, and reaches every function that wants it:
//
//   sdk::Figure<sdk::PeakBytes> peak_bytes(const Record& task, const Facts& facts);
//   using Memory = sdk::Table<sdk::Fill<kPeak, peak_bytes>>;
//   memory.put(row, task, facts);
//
// All of it is resolved by the compiler: a table costs what the same calls of `put` would cost.
//
// A table is a Fields as well (fields.hpp): it is offered, asked for, failed and refused as one.
//
// What is here:   Fill and Table.
// What is not:    text that is keys and numbers, which needs no struct at all (text_table.hpp).

#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "ctprof/fields.hpp"
#include "ctprof/gap.hpp"

namespace ctprof::sdk {

// The sentence with which the compiler refuses a figure of another newtype.
#define CTPROF_SAYS_OTHER_NEWTYPE                                                              \
  "this figure is of another newtype than the metric that it is to fill: a line of the table " \
  "has the wrong member, or the wrong metric"

// Whether what a line takes from a record may go into a column of the newtype N. A bare value may:
// nothing is known about it.
template <class N, class From>
inline constexpr bool kFitsNewtype = true;
template <class N, class Other>
inline constexpr bool kFitsNewtype<N, Figure<Other>> = std::is_same_v<N, Other>;
template <class N, class From>
inline constexpr bool kFitsNewtype<N, Reading<From>> = kFitsNewtype<N, From>;

// One line: the metric, and where its figure comes from: a member of the record, a function of the
// record, or a function of the record and of what `put` was given beside it.
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

// Lines whose columns are filled together, from one record.
template <class... Lines>
class Table : public Fields<Lines::kMetric...> {
 public:
  using Fields<Lines::kMetric...>::Fields;

  // Fills this row's cell of each line's column. Columns that nobody wants are computed as well;
  // put what is costly into a table of its own, and ask for it (`if (table)`).
  template <class Record, class... More>
  void put(std::uint32_t row, const Record& record, More&&... more) {
    std::apply([&](auto&... columns) { (columns.put(row, Lines::of(record, more...)), ...); },
               this->columns_);
  }
};

}  // namespace ctprof::sdk
