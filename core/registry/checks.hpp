// What a plugin's table must hold to be loaded. Each check answers with a sentence when it does
// not.
//
// The C++ layer of the SDK makes most of these mistakes impossible; a table made by other means is
// never trusted.

#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.hpp"
#include "core/registry/plugin.hpp"
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

Result<void> check_plugin(const ctprof_plugin& plugin);
// Why this ctprof has no use for it, though it may be sound; empty where it has. Asked before its
// check.
std::string unserved(const ctprof_source& source);
std::string unserved(const ctprof_metric& metric);
// `plugin` for the rules that it brings.
Result<void> check_metric(const ctprof_metric& metric, const Plugin& plugin);
Result<void> check_offer(const MetricDef& metric, const SourceTable& source);
Result<void> check_source(const ctprof_source& source);
// Once its offers are known.
Result<void> check_lister(const SourceTable& source);
Result<void> check_derived(const ctprof_derived& derived);
Result<void> check_rule(const ctprof_rule& rule);
// Beside the options that `plugin` has already.
Result<void> check_option(const ctprof_option& option, const Plugin& plugin);

}  // namespace ctprof
