// How a rule walks the rows that it is handed, and finds the state of each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ctprof/abi.h"

namespace ctprof::rules {

inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

// Calls visit(state, value) for each row that has a value and a group. REQUIRES: State is the
// rule's state, and T what rows.storage is.
template <class State, class T, class Visit>
void for_each_reading(void* states, const ctprof_rows& rows, Visit visit) {
  auto* state = static_cast<State*>(states);
  const auto* values = static_cast<const T*>(rows.values);
  for (std::uint64_t row = 0; row < rows.count; ++row) {
    if (rows.groups[row] == kNoGroup || (rows.gaps && rows.gaps[row] != CTPROF_VALUE)) continue;
    visit(state[rows.groups[row]], values[row]);
  }
}

inline std::string_view view(ctprof_text text) { return {text.data, text.size}; }
inline ctprof_text text_of(std::string_view text) { return {text.data(), text.size()}; }
inline void put(const ctprof_sink& sink, std::string_view text) {
  sink.put(sink.core, text.data(), text.size());
}

}  // namespace ctprof::rules
