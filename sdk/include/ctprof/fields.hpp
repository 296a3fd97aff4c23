// Groups of columns: those that are filled from one place, as one thing.
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
// What a source of two files looks like then:
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
// Use one group for each thing that can be missing by itself: a file, an option of the kernel, a
// line that came with some version. What is asked, refused and failed together is then written
// once, and a metric that is added to the group is treated like the rest of it everywhere.
//
// `put` takes values by position. That is fine for one or two. Where there are more, two arguments
// can change places unnoticed: use a Table (table.hpp), which fills columns by name.
//
// Objects of these types live as long as the batch that they were made of.
//
// What is here:   Fields, Groups of them, offers joined.
// What is not:    what a file says: see the reader of that file.

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

// The columns of some metrics, each a constant of a namespace.
// Making one looks each metric up by name, so make it once a batch, not once a row.
template <const auto&... kMetrics>
class Fields {
 public:
  // For the source's kOffers, alone or `joined` with others.
  static constexpr Offers<sizeof...(kMetrics)> kOffers = {kMetrics.abi...};

  // The source must offer all of them, else this throws std::logic_error, and the batch fails with
  // the name of the metric.
  explicit Fields(const Batch& batch) : columns_(batch.column(kMetrics)...) {}

  // Whether anybody wants any of them. Where it is false you need not read the file at all:
  explicit operator bool() const {
    return std::apply([](const auto&... columns) { return (static_cast<bool>(columns) || ...); },
                      columns_);
  }

  // Fills this row's cell of each column. Takes what Column::put takes, and refuses what it
  // refuses; another number of arguments than metrics does not compile.
  template <class... Readings>
  void put(std::uint32_t row, const Readings&... readings) {
    static_assert(sizeof...(Readings) == sizeof...(kMetrics),
                  "one reading for each metric of the list");
    std::apply([&](auto&... columns) { (columns.put(row, readings), ...); }, columns_);
  }

  // Puts one gap into this row's cell of each column: the file could not be read, say.
  void fail(std::uint32_t row, Gap gap) {
    std::apply([&](auto&... columns) { (columns.put(row, gap), ...); }, columns_);
  }

  // Says of each what Probe::refuse and Probe::lacks say of one. Call them in the source's `probe`,
  // where there is no batch yet; a metric that the source does not offer is passed over.
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

// Several lists of offers as one.
//   static constexpr auto kOffers = sdk::joined(IoFields::kOffers, StatFields::kOffers);
template <std::size_t... N>
constexpr auto joined(const std::array<ctprof_metric, N>&... lists) {
  std::array<ctprof_metric, (N + ... + 0)> all{};
  auto next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

// Several groups as one: made of a batch together, gone through one by one.
//
//   using Files = sdk::Groups<StatFile, IoFields>;
//   Files files(batch);
//   files.for_each([&](auto& file) { if (file) file.fill(row, read(file.kName)); });
//   files.get<IoFields>().fail(row, Gap::Denied);
//
// Groups can be made of Groups: all of a plugin's columns are then one thing with one kOffers, and
// still each part can be refused by itself.
//
// A group is any type that is made of a batch, is true when a column of it is wanted, and has
// `kOffers`; `fail`, `refuse` and `lacks` are needed only where they are called. A type may be
// in the list only once.
template <class... Members>
class Groups {
 public:
  // Of all groups, one after the other.
  static constexpr auto kOffers = joined(Members::kOffers...);

  explicit Groups(const Batch& batch) : members_(Members(batch)...) {}

  // Whether a column of any group is wanted.
  explicit operator bool() const {
    return std::apply([](const auto&... members) { return (static_cast<bool>(members) || ...); },
                      members_);
  }

  // One group, by its type.
  template <class Member>
  Member& get() {
    return std::get<Member>(members_);
  }

  // Calls `function(group)` for each, in the order of the list. The groups are of different types,
  // so the function is a lambda that takes `auto&`.
  template <class Function>
  void for_each(Function function) {
    std::apply([&](auto&... members) { (function(members), ...); }, members_);
  }
  // Calls `function.operator()<Group>()` for each type; for probing, where there is no batch yet.
  template <class Function>
  static void for_each_type(Function function) {
    (function.template operator()<Members>(), ...);
  }

  // Passes a record, and what belongs to it, to each: for groups that are tables (table.hpp).
  template <class Record, class... More>
  void put(std::uint32_t row, const Record& record, More&&... more) {
    for_each([&](auto& member) { member.put(row, record, more...); });
  }

  // The same for all columns of all groups: what Fields says of one.
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
