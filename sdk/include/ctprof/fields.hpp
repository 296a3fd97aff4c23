// Groups of columns that are filled from one place and handled together.
//
//   using IoFields = sdk::Fields<kRchar, kWchar>;
//
//   IoFields io(batch);
//   if (readable)
//     io.put(row, rchar, wchar);        // one value, gap or reading each, in the order of the list
//   else
//     io.fail(row, Gap::Denied);        // the same gap for all of them
//   IoFields::refuse(probe, Gap::Unsupported, "the kernel has no CONFIG_TASK_IO_ACCOUNTING");
//
// A source that reads two files:
//
//   class Threads : public sdk::ThreadSource {
//    public:
//     using Columns = sdk::Groups<IoFields, StatFields>;
//     static constexpr auto kOffers = Columns::kOffers;
//     static void probe(const sdk::Host& host, const sdk::Probe& probe) {
//       if (!has_io_files(host)) IoFields::refuse(probe, Gap::Unsupported, "...");
//     }
//     ...
//   };
//
// Use one group for each thing that can be missing independently: a file, a kernel option, a line
// that a later kernel version added. The code that requests, refuses and fails the group is then
// written once, and a metric that is added to the group is handled in the same way everywhere.
//
// `put` takes values by position, which is suitable for one or two. With more, two arguments can be
// swapped unnoticed: use a Table (table.hpp), which fills columns by name.
//
// Objects of these types are valid as long as their batch.
//
// Contents:   Fields, Groups of Fields, joined lists of offers.
// See also:   the reader of each file for the meaning of its contents.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "ctprof/batch.hpp"
#include "ctprof/host.hpp"
#include "ctprof/source.hpp"

namespace ctprof::sdk {

// The columns of some metrics; each metric is a constant at namespace scope. The constructor finds
// each column by name, so make one object per batch, not one per row.
template <const auto&... kMetrics>
class Fields {
 public:
  // For the source's kOffers, either directly or `joined` with other lists.
  static constexpr Offers<sizeof...(kMetrics)> kOffers = {kMetrics.abi...};

  // The source must offer all of the metrics. Otherwise this throws std::logic_error, and the batch
  // fails with the name of the metric.
  explicit Fields(const Batch& batch) : columns_(batch.column(kMetrics)...) {}

  // Whether any of the columns was requested. If not, the file need not be read.
  explicit operator bool() const {
    return std::apply([](const auto&... columns) { return (static_cast<bool>(columns) || ...); },
                      columns_);
  }

  // Fills this row's cell of each column. Accepts the same values as Column::put. The number of
  // arguments must equal the number of metrics, or the call does not compile.
  template <class... Readings>
  void put(std::uint32_t row, const Readings&... readings) {
    static_assert(sizeof...(Readings) == sizeof...(kMetrics),
                  "one reading for each metric of the list");
    std::apply([&](auto&... columns) { (columns.put(row, readings), ...); }, columns_);
  }

  // Puts one gap into this row's cell of each column, for example when the file cannot be read.
  void fail(std::uint32_t row, Gap gap) {
    std::apply([&](auto&... columns) { (columns.put(row, gap), ...); }, columns_);
  }

  // Call Probe::refuse or Probe::lacks for each metric. Use them in the source's `probe`, where no
  // batch exists yet. A metric that the source does not offer is ignored.
  static void refuse(const Probe& probe, Gap gap, std::string_view reason,
                     const Remedy& remedy = {}) {
    (probe.refuse(kMetrics, gap, reason, remedy), ...);
  }
  static void lacks(const Probe& probe, std::string_view sentence, const Remedy& remedy) {
    (probe.lacks(kMetrics, sentence, remedy), ...);
  }

 protected:
  std::tuple<decltype(std::declval<const Batch&>().column(kMetrics))...> columns_;
};

// Joins several lists of offers.
//   static constexpr auto kOffers = sdk::joined(IoFields::kOffers, StatFields::kOffers);
template <std::size_t... N>
constexpr auto joined(const std::array<ctprof_metric, N>&... lists) {
  std::array<ctprof_metric, (N + ... + 0)> all{};
  auto next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

// Several groups that are made from one batch together and handled one after the other.
//
//   using Files = sdk::Groups<StatFile, IoFields>;
//   Files files(batch);
//   files.for_each([&](auto& file) { if (file) file.fill(row, read(file.kName)); });
//   files.get<IoFields>().fail(row, Gap::Denied);
//
// Groups can contain Groups. All columns of a plugin then form one object with one kOffers, and
// each part can still be refused separately.
//
// A group is any type that is constructed from a batch, converts to true if one of its columns was
// requested, and has `kOffers`. `fail`, `refuse` and `lacks` are needed only if they are called. A
// type may be in the list only once.
template <class... Members>
class Groups {
 public:
  // The offers of all groups, in the order of the list.
  static constexpr auto kOffers = joined(Members::kOffers...);

  explicit Groups(const Batch& batch) : members_(Members(batch)...) {}

  // Whether a column of any group was requested.
  explicit operator bool() const {
    return std::apply([](const auto&... members) { return (static_cast<bool>(members) || ...); },
                      members_);
  }

  // Returns the group of a type.
  template <class Member>
  Member& get() {
    return std::get<Member>(members_);
  }

  // Calls `function(group)` for each group, in the order of the list. The groups have different
  // types, so the function must be a lambda that takes `auto&`.
  template <class Function>
  void for_each(Function function) {
    std::apply([&](auto&... members) { (function(members), ...); }, members_);
  }
  // Calls `function.operator()<Group>()` for each type. Use it in `probe`, where no batch exists
  // yet.
  template <class Function>
  static void for_each_type(Function function) {
    (function.template operator()<Members>(), ...);
  }

  // Passes a record and further arguments to each group: for groups that are tables (table.hpp).
  template <class Record, class... More>
  void put(std::uint32_t row, const Record& record, More&&... more) {
    for_each([&](auto& member) { member.put(row, record, more...); });
  }

  // As in Fields, for all columns of all groups.
  void fail(std::uint32_t row, Gap gap) {
    for_each([&](auto& member) { member.fail(row, gap); });
  }
  static void refuse(const Probe& probe, Gap gap, std::string_view reason,
                     const Remedy& remedy = {}) {
    (Members::refuse(probe, gap, reason, remedy), ...);
  }
  static void lacks(const Probe& probe, std::string_view sentence, const Remedy& remedy) {
    (Members::lacks(probe, sentence, remedy), ...);
  }

 private:
  std::tuple<Members...> members_;
};

}  // namespace ctprof::sdk
