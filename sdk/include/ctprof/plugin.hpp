// The only header that a plugin needs, and the macro that defines its exported constant.
//
//   CTPROF_PLUGIN("example", "1.0", "The kernel function in which each thread sleeps.", Wchan)
//
// exports `ctprof_plugin` with the listed sources. The constant is plain data: loading the plugin
// runs none of its code. A plugin that also has rules, derived metrics or metrics without an offer
// fills sdk::Extra and passes it to CTPROF_PLUGIN_WITH.
//
// A complete plugin, with one metric of the host:
//
//   #include "ctprof/plugin.hpp"
//
//   namespace {
//   namespace sdk = ctprof::sdk;
//   using ctprof::Gap;
//
//   constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount, sdk::Entity::Host> kFiles{{
//       .name = "files_open",
//       .source = "/proc/sys/fs/file-nr:field 1",
//       .description = "Open files of the whole host."}};
//
//   class Files : public sdk::HostSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(kFiles);
//     static void probe(const sdk::Host& host, const sdk::Probe& probe) {
//       if (!sdk::TextFile().read(host.proc(), "sys/fs/file-nr"))
//         probe.refuse(kFiles, Gap::Unsupported, "there is no /proc/sys/fs/file-nr");
//     }
//     explicit Files(const sdk::Host& host) : host_(host) {}
//     void collect(const sdk::Batch& batch) { batch.column(kFiles).put(0, count()); }
//
//    private:
//     sdk::Reading<std::uint64_t> count() {
//       auto text = file_.read(host_.proc(), "sys/fs/file-nr");
//       return text ? sdk::number<std::uint64_t>(sdk::take(text.value, '\t')) : text.gap;
//     }
//     sdk::Host host_;
//     sdk::TextFile file_;
//   };
//   }  // namespace
//
//   CTPROF_PLUGIN("files", "1.0", "How many files are open.", Files)

#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "ctprof/plugin.hpp needs C++20: compile with -std=c++20 (in C, include ctprof/abi.h instead)"
#else

#include <array>

#include "ctprof/abi.h"
#include "ctprof/batch.hpp"
#include "ctprof/entity.hpp"
#include "ctprof/fields.hpp"
#include "ctprof/files.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"
#include "ctprof/labels.hpp"
#include "ctprof/metric.hpp"
#include "ctprof/reads.hpp"
#include "ctprof/source.hpp"
#include "ctprof/table.hpp"
#include "ctprof/text_table.hpp"

namespace ctprof::sdk {

// The parts of a plugin in addition to its sources.
//
//   constexpr std::array kOptions{sdk::option("depth", "16", "How many levels are read.")};
//   constexpr sdk::Extra kExtra{.derived = sdk::array_of(kDerived),
//                               .options = sdk::array_of(kOptions)};
//   CTPROF_PLUGIN_WITH("example", "1.0", "...", kExtra, MySource)
//
// Every array must exist as long as the plugin: declare each as a constant at namespace scope.
struct Extra {
  // Of ctprof_metric: metrics without an offer, which a formula or a mark needs.
  ctprof_array metrics{};
  // Of ctprof_derived: metrics that are computed for each group from other metrics.
  ctprof_array derived{};
  // Of ctprof_rule: rules that the plugin provides.
  ctprof_array rules{};
  // Of const char *: top-level keys of the file that are null when no source fills them.
  ctprof_array objects{};
  // CTPROF_PLUGIN_...; only for plugins that ship with ctprof.
  ctprof_plugin_flags flags = 0;
  // The functions that create and destroy the plugin's context; with_context below sets both.
  decltype(ctprof_plugin::open_plugin) open_plugin = nullptr;
  decltype(ctprof_plugin::close_plugin) close_plugin = nullptr;
  // Of ctprof_option: options that `--set PLUGIN.KEY=VALUE` can set.
  ctprof_array options{};
};

// A context contains objects that are expensive to create and that all workers share: a loaded BPF
// program, a socket, a cache. Its class is constructed from a Host when the plugin is opened, and
// destroyed when it is closed.
//
//   class Names {                                     // the context
//    public:
//     explicit Names(const sdk::Host& host) : host_(host) {}
//     std::string of(std::uint64_t id) {
//       const std::lock_guard lock(mutex_);             // called by any worker
//       ...
//     }
//   };
//
//   void MySource::collect(const sdk::Batch& batch) {
//     Names& names = host_.context<Names>();
//     ...
//   }
//
//   CTPROF_PLUGIN_WITH("example", "1.0", "...", ctprof::sdk::with_context<Names>(), MySource)
//
// All sources of the plugin access it with host.context<Context>() from any worker, so it must be
// thread-safe. Its constructor may throw: then the plugin's offers are refused with the message of
// the exception.
//
// A context belongs to one capture. Two captures may run concurrently, each with a context of its
// own, so a plugin must not keep state in static variables.
template <class Context>
constexpr Extra with_context(Extra extra = {}) {
  extra.open_plugin = [](const ctprof_host* host, void** context, char* message,
                         std::size_t size) noexcept {
    return contained(message, size, [&] { *context = new Context(Host(*host)); });
  };
  extra.close_plugin = [](void* context) noexcept { delete static_cast<Context*>(context); };
  return extra;
}

// Returns the ABI's view of a constant array that outlives it. REQUIRES: the array is a constant at
// namespace scope, or static.
template <class Array>
constexpr ctprof_array array_of(const Array& array) {
  return {array.data(), static_cast<std::uint32_t>(array.size()),
          static_cast<std::uint32_t>(sizeof(array[0]))};
}

// Makes the table itself, for code that does not use the macros, such as a test.
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
          .close_plugin = extra.close_plugin,
          .options = extra.options};
}

// Makes the ABI tables of several source classes.
template <class... Sources>
struct SourceList {
  static constexpr std::array<ctprof_source, sizeof...(Sources)> make(const char* plugin_name) {
    return {SourceTable<Sources>::make(plugin_name)...};
  }
};

}  // namespace ctprof::sdk

// Defines the exported constant. Use one of the two macros once in a plugin, outside every
// namespace.
//
//   name          lower case letters, digits, - and _; your metrics begin with it
//   version       the plugin's version, for `ctprof plugins`
//   description   one sentence
//   extra         an sdk::Extra that is a constant
//   ...           the source classes
#define CTPROF_PLUGIN_WITH(name, version, description, extra, ...) \
  static constexpr auto ctprof_plugin_sources =                    \
      ::ctprof::sdk::SourceList<__VA_ARGS__>::make(name);          \
  CTPROF_EXPORT constexpr ctprof_plugin ctprof_plugin =            \
      ::ctprof::sdk::make_plugin(name, version, description, ctprof_plugin_sources, extra);

#define CTPROF_PLUGIN(name, version, description, ...) \
  CTPROF_PLUGIN_WITH(name, version, description, ::ctprof::sdk::Extra{}, __VA_ARGS__)

#endif
