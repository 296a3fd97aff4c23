// Numbers as the kernel prints them, or Malformed: never zero for what could not be understood.

#pragma once

#include <cstdint>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof::procfs {

// A number of type `Narrow` that fills all of `text`, kept as `Wide`; out of the narrow range is
// Malformed too.
template <class Narrow, class Wide>
sdk::Reading<Wide> narrow(std::string_view text) {
  const auto value = sdk::number<Narrow>(text);
  return value ? sdk::Reading<Wide>(static_cast<Wide>(value.value)) : sdk::Reading<Wide>(value.gap);
}

inline sdk::Reading<std::uint64_t> u64(std::string_view text) {
  return sdk::number<std::uint64_t>(text);
}
inline sdk::Reading<std::uint64_t> u32(std::string_view text) {
  return narrow<std::uint32_t, std::uint64_t>(text);
}
inline sdk::Reading<std::int64_t> i32(std::string_view text) {
  return narrow<std::int32_t, std::int64_t>(text);
}

// Takes the blanks at both ends off; quicker than sdk::trimmed, for lines whose only blanks are ' '
// and tabs.
inline std::string_view bare(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace ctprof::procfs
