// A plugin in the form that the core uses after its tables have been read and checked.
//
// The tables are copies: the structs of an older plugin are shorter, and the missing tail is zero.
// Required function pointers have been checked. They stay valid until the process exits, since
// plugins are never unloaded.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/declared_metrics.hpp"
#include "core/registry/metric_def.hpp"
#include "core/registry/plugin_tables.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Reads and checks a plugin's exported table. `available_bytes` is the number of its bytes that are
// known to exist. Definitions in `shared_definitions` with identical declarations are shared, not
// created again. A layout's own definitions are added to `new_declarations` unless that is null,
// even if the layout is then refused. The error contains only the reason.
Result<Plugin> read_plugin(const ctprof_plugin& table, std::size_t available_bytes,
                           const DeclaredMetrics& shared_definitions = {},
                           DeclaredMetrics* new_declarations = nullptr);

}  // namespace ctprof
