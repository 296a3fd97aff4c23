// The columns that are filled from one place, as one thing.
//
//   using IoFields = Fields<vocabulary::rchar, vocabulary::wchar>;
//   IoFields io(batch);
//   if (io) io.put(row, rchar, wchar);   // one Reading each, in the order of the list
//   else    io.fail(row, gap);           // the same reason for all of them
//
// What is here:   offering, asking, filling and refusing several metrics at once.
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

namespace ctprof {

template <const auto&... kMetrics>
class Fields {
 public:
  static constexpr auto kOffers = sdk::offers(kMetrics...);

  explicit Fields(const sdk::Batch& batch) : columns_(batch.column(kMetrics)...) {}

  // Whether anybody wants any of them.
  explicit operator bool() const {
    return std::apply([](const auto&... columns) { return (static_cast<bool>(columns) || ...); },
                      columns_);
  }

  template <class... Readings>
  void put(std::uint32_t row, const Readings&... readings) {
    static_assert(sizeof...(Readings) == sizeof...(kMetrics),
                  "one reading for each metric of the list");
    std::apply([&](auto&... columns) { (columns.put(row, readings), ...); }, columns_);
  }

  void fail(std::uint32_t row, Gap gap) {
    std::apply([&](auto&... columns) { (columns.put(row, gap), ...); }, columns_);
  }

  static void refuse(const sdk::Probe& probe, Gap gap, std::string_view reason,
                     const sdk::Remedy& remedy = {}) {
    (probe.refuse(kMetrics, gap, reason, remedy), ...);
  }

  static void lacks(const sdk::Probe& probe, std::string_view sentence, const sdk::Remedy& remedy) {
    (probe.lacks(kMetrics, sentence, remedy), ...);
  }

 private:
  std::tuple<decltype(std::declval<const sdk::Batch&>().column(kMetrics))...> columns_;
};

// Several lists of offers as one.
template <std::size_t... N>
constexpr auto joined(const std::array<ctprof_metric, N>&... lists) {
  std::array<ctprof_metric, (N + ...)> all{};
  auto next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

}  // namespace ctprof
