// The tables of a plugin, copied and checked.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/declared_metrics.hpp"
#include "core/registry/metric_def.hpp"
#include "ctprof/abi.h"

namespace ctprof {

struct OfferTable {
  SharedMetric metric;  // empty if not supported
  std::int32_t rank = 0;
  bool is_supported = true;  // false: it keeps its index, but is never requested
};

// A column that a source reads.
struct InputColumn {
  std::string column;
  bool is_optional = false;
};

struct SourceTable {
  ctprof_source table{};
  std::string name;
  std::vector<OfferTable> offers;
  std::vector<InputColumn> reads;
};

// An option of a plugin and its value.
struct PluginOption {
  std::string key;
  std::string value;  // as set by the user (apply_settings), or the default
  std::string description;
};

struct Plugin {
  std::string name;
  std::string version;
  std::string description;
  std::string path;
  std::uint32_t abi = 0;
  bool is_layout = false;    // only declares metrics; see CTPROF_PLUGIN_LAYOUT
  bool runs_always = false;  // takes part in every capture; see CTPROF_PLUGIN_ALWAYS
  bool opens_early = false;  // is opened before others are loaded; see CTPROF_PLUGIN_AHEAD
  bool is_shipped = false;   // ships with ctprof: its names need no prefix
  // Create and destroy its context; both null if it has none, or is older than contexts.
  std::int32_t (*open)(const ctprof_host* host, void** context, char* message,
                       std::size_t message_size) = nullptr;
  void (*close)(void* context) = nullptr;
  std::vector<SourceTable> sources;
  std::vector<SharedMetric> declared_metrics;
  std::vector<DerivedDef> derived_metrics;
  std::vector<ctprof_rule> rules;
  std::vector<std::string> objects;
  std::vector<PluginOption> options;
  // The parts of a newer plugin that this ctprof does not support (a stage, a storage), one
  // sentence each. The other parts of the plugin are used.
  std::vector<std::string> unsupported_parts;
};

}  // namespace ctprof
