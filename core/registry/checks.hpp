// What a plugin's table must hold to be loaded. Each check answers with a sentence when it does
// not.
//
// The C++ layer of the SDK makes most of these mistakes impossible; a table made by other means is
// never trusted.

#pragma once

#include "core/base/result.hpp"
#include "core/registry/plugin.hpp"
#include "ctprof/abi.h"

namespace ctprof {

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
