// How large the ABI's structs were in version 1.
//
// A plugin may be older than this ctprof: its structs end where version 1 ended, and what came
// later is zero. They may not end sooner.

#pragma once

#include <cstddef>
#include <string>

#include "ctprof/abi.h"

namespace ctprof {

// Bytes of a struct up to and with its last field of version 1.
template <class Struct>
inline constexpr std::size_t kSizeV1 = 0;

#define CTPROF_V1_ENDS_WITH(type, field) \
  template <>                            \
  inline constexpr std::size_t kSizeV1<type> = offsetof(type, field) + sizeof(type::field)

CTPROF_V1_ENDS_WITH(ctprof_plugin, objects);
CTPROF_V1_ENDS_WITH(ctprof_source, summarise);
CTPROF_V1_ENDS_WITH(ctprof_offer, reserved);
CTPROF_V1_ENDS_WITH(ctprof_metric, map_keys);
CTPROF_V1_ENDS_WITH(ctprof_headline, floor);
CTPROF_V1_ENDS_WITH(ctprof_derived, caveat);
CTPROF_V1_ENDS_WITH(ctprof_rule, parts);
CTPROF_V1_ENDS_WITH(ctprof_option, description);
template <>
inline constexpr std::size_t kSizeV1<const char*> = sizeof(const char*);

#undef CTPROF_V1_ENDS_WITH

// Why a struct that says that it is `size` bytes cannot be read; `who` is its subject.
template <class Struct>
std::string too_small(const std::string& who, std::size_t size) {
  return who + " is of size " + std::to_string(size) + ", version 1 of the ABI has " +
         std::to_string(kSizeV1<Struct>);
}

}  // namespace ctprof
