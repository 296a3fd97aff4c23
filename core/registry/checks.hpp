// Checks a plugin's tables before they are used. Each check returns an error that names the fault.
//
// The C++ layer of the SDK prevents most of these mistakes, but a table that was built by other
// means may contain any of them. A plugin may be older than this ctprof: its structs then end where
// version 1 of the ABI ended, and the missing tail counts as zero. No struct may be shorter.
//
// All functions depend only on their arguments, and may be called on any thread.

#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.hpp"
#include "core/registry/plugin_tables.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// The size of a struct in version 1 of the ABI: up to the end of its last field.
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
CTPROF_V1_ENDS_WITH(ctprof_entity_type, derived);
CTPROF_V1_ENDS_WITH(ctprof_finding, statement);
CTPROF_V1_ENDS_WITH(ctprof_rule, parts);
CTPROF_V1_ENDS_WITH(ctprof_option, description);
template <>
inline constexpr std::size_t kSizeV1<const char*> = sizeof(const char*);

#undef CTPROF_V1_ENDS_WITH

// Returns the message for a struct whose `size` field is too small; `subject` is the subject of the
// sentence.
template <class Struct>
std::string size_error_message(const std::string& subject, std::size_t size) {
  return subject + " is of size " + std::to_string(size) +
         ", but version 1 of the ABI needs at least " + std::to_string(kSizeV1<Struct>);
}

Result<void> check_plugin(const ctprof_plugin& plugin);
// Returns why this version of ctprof does not support a source or a metric, or "" if it does. Call
// it before the check: an unsupported part is ignored instead of refused.
std::string find_unsupported_reason(const ctprof_source& source);
std::string find_unsupported_reason(const ctprof_metric& metric);
// Checks a metric. `plugin` supplies the rules that the metric may name.
Result<void> check_metric(const ctprof_metric& metric, const Plugin& plugin);
Result<void> check_offer(const MetricDef& metric, const SourceTable& source);
Result<void> check_source(const ctprof_source& source);
// Checks the entity of a source whose stage requires one.
Result<void> check_entity(const ctprof_source& source);
// REQUIRES: the source's offers have been read.
Result<void> check_lister(const SourceTable& source);
// Checks a derived metric, which is of an entity of a plugin or of a built-in one.
Result<void> check_derived(const ctprof_derived& derived, bool is_of_source = false);
Result<void> check_rule(const ctprof_rule& rule);
// Checks an option against those that `plugin` already has.
Result<void> check_option(const ctprof_option& option, const Plugin& plugin);

}  // namespace ctprof
