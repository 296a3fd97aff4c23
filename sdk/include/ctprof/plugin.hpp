// The one include of a plugin, and the macro that spells its exported constant.
//
//   CTPROF_PLUGIN("example", "1.0", "What each thread sleeps in.", Wchan)
//
// exports `ctprof_plugin` with the sources named. The constant is plain data: nothing of the plugin
// runs when it is loaded. A plugin with rules, derived metrics or metrics that it only declares
// fills sdk::Extra and passes it to CTPROF_PLUGIN_WITH.

#pragma once

#include <array>

#include "ctprof/abi.h"
#include "ctprof/batch.hpp"
#include "ctprof/fields.hpp"
#include "ctprof/files.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"
#include "ctprof/identity.hpp"
#include "ctprof/metric.hpp"
#include "ctprof/reads.hpp"
#include "ctprof/source.hpp"
#include "ctprof/table.hpp"
#include "ctprof/text_table.hpp"

namespace ctprof::sdk {

// What a plugin may bring beside sources.
struct Extra {
  ctprof_array metrics{};
  ctprof_array derived{};
  ctprof_array rules{};
  ctprof_array objects{};
  ctprof_plugin_flags flags = 0;
  decltype(ctprof_plugin::open_plugin) open_plugin = nullptr;
  decltype(ctprof_plugin::close_plugin) close_plugin = nullptr;
};

// A plugin that keeps something: a class that is made from a Host when the plugin is opened, and
// gone when it is closed. All sources of the plugin reach it by host.context<Context>(), from any
// worker, so it guards itself. Its constructor may throw: then the plugin's offers are refused,
// with the exception's words.
//
//   CTPROF_PLUGIN_WITH("example", "1.0", "...", ctprof::sdk::with_context<Socket>(), MySource)
template <class Context>
constexpr Extra with_context(Extra extra = {}) {
  extra.open_plugin = [](const ctprof_host* host, void** context, char* message,
                         std::size_t size) noexcept {
    return contained(message, size, [&] { *context = new Context(Host(*host)); });
  };
  extra.close_plugin = [](void* context) noexcept { delete static_cast<Context*>(context); };
  return extra;
}

// The ABI's view of a constant array that outlives it.
template <class Array>
constexpr ctprof_array array_of(const Array& array) {
  return {array.data(), static_cast<std::uint32_t>(array.size()),
          static_cast<std::uint32_t>(sizeof(array[0]))};
}

template <std::size_t N>
constexpr ctprof_plugin make_plugin(const char* name, const char* version, const char* description,
                                    const std::array<ctprof_source, N>& sources,
                                    const Extra& extra = {}) {
  return {.abi = CTPROF_ABI,
          .size = sizeof(ctprof_plugin),
          .name = name,
          .version = version,
          .description = description,
          .flags = extra.flags,
          .reserved = 0,
          .sources = array_of(sources),
          .metrics = extra.metrics,
          .derived = extra.derived,
          .rules = extra.rules,
          .objects = extra.objects,
          .open_plugin = extra.open_plugin,
          .close_plugin = extra.close_plugin};
}

template <class... Sources>
struct SourceList {
  static constexpr std::array<ctprof_source, sizeof...(Sources)> make(const char* plugin_name) {
    return {SourceTable<Sources>::make(plugin_name)...};
  }
};

}  // namespace ctprof::sdk

#define CTPROF_EXPORT extern "C" __attribute__((visibility("default")))

#define CTPROF_PLUGIN_WITH(name, version, description, extra, ...) \
  static constexpr auto ctprof_plugin_sources =                    \
      ::ctprof::sdk::SourceList<__VA_ARGS__>::make(name);          \
  CTPROF_EXPORT constexpr ctprof_plugin ctprof_plugin =            \
      ::ctprof::sdk::make_plugin(name, version, description, ctprof_plugin_sources, extra);

#define CTPROF_PLUGIN(name, version, description, ...) \
  CTPROF_PLUGIN_WITH(name, version, description, ::ctprof::sdk::Extra{}, __VA_ARGS__)
