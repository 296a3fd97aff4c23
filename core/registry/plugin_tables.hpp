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
  Entity entity = Entity::Thread;    // the kind of its rows
  std::string entity_description{};  // of an entity of a plugin
  std::vector<OfferTable> offers;
  std::vector<InputColumn> reads;
};

// Returns whether a source of this stage works only while a window is open.
constexpr bool works_in_window(ctprof_stage stage) {
  return stage == CTPROF_STAGE_EXITED || stage == CTPROF_STAGE_RECORD;
}
// Returns whether the rows of a source of this stage are those of an entity of a plugin.
constexpr bool has_plugin_entity(ctprof_stage stage) {
  return stage == CTPROF_STAGE_ENTITY_LIST || stage == CTPROF_STAGE_ENTITY;
}
// Returns the entity of the rows of a source of any other stage.
constexpr Entity entity_of_stage(ctprof_stage stage) {
  switch (stage) {
    case CTPROF_STAGE_PROCESS: return Entity::Process;
    case CTPROF_STAGE_CGROUP: return Entity::Cgroup;
    case CTPROF_STAGE_HOST: return Entity::Host;
    default: return Entity::Thread;
  }
}

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
