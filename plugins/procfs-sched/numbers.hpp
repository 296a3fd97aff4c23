// Numbers as the kernel prints them, or Malformed: never zero for what could not be understood.

#pragma once

#include <cstdint>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof::procfs {

using sdk::bare;

inline sdk::Reading<std::uint64_t> u64(std::string_view text) {
  return sdk::number<std::uint64_t>(text);
}

}  // namespace ctprof::procfs
