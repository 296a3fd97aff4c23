// A plugin, as the core holds it once its tables have been read and checked.
//
// The tables are copies: an older plugin's structs are shorter than ours, and the missing tail is
// zero. Function pointers that must not be null have been checked; they stay valid until the
// process ends, since plugins are never unloaded.

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
  SharedMetric metric;  // empty if not served
  std::int32_t rank = 0;
  bool served = true;  // false: it keeps its number, and nobody asks for it
};

// A column that a source reads.
struct Read {
  std::string column;
  bool optional = false;
};

struct SourceTable {
  ctprof_source table{};
  std::string name;
  std::vector<OfferTable> offers;
  std::vector<Read> reads;
};

// Something that it can be told, and what it was told.
struct PluginOption {
  std::string key;
  std::string value;  // as set (settings.hpp), or else its own fallback
  std::string description;
};

struct Plugin {
  std::string name;
  std::string version;
  std::string description;
  std::string path;
  std::uint32_t abi = 0;
  bool layout = false;   // only declares; see CTPROF_PLUGIN_LAYOUT
  bool always = false;   // asks to take part in every capture; see CTPROF_PLUGIN_ALWAYS
  bool ahead = false;    // asks to be opened before others are loaded; see CTPROF_PLUGIN_AHEAD
  bool shipped = false;  // came with ctprof: its names need no prefix
  // Its context; both null where it needs none, or is older than contexts.
  std::int32_t (*open)(const ctprof_host* host, void** context, char* message,
                       std::size_t message_size) = nullptr;
  void (*close)(void* context) = nullptr;
  std::vector<SourceTable> sources;
  std::vector<SharedMetric> declared;
  std::vector<DerivedDef> derived;
  std::vector<ctprof_rule> rules;
  std::vector<std::string> objects;
  std::vector<PluginOption> options;
  // What a newer plugin has and this ctprof has no use for (a stage, a storage): a sentence each.
  // The rest of the plugin counts.
  std::vector<std::string> unserved;
};

// Reads and checks a plugin's exported table. `room` is how many bytes of it are known to be there.
// What it says as `known` does is not defined again. A layout's own definitions are added to
// `declares`, if that is not null, also where the layout is then refused. The error is the reason
// alone.
Result<Plugin> read_plugin(const ctprof_plugin& table, std::size_t room,
                           const DeclaredMetrics& known = {}, DeclaredMetrics* declares = nullptr);

}  // namespace ctprof
