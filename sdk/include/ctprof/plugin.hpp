// The one include of a plugin, and the macro that spells its exported constant.
//
//   CTPROF_PLUGIN("example", "1.0", "What each thread sleeps in.", Wchan)
//
// exports `ctprof_plugin` with the sources named. The constant is plain data: nothing of the plugin
// runs when it is loaded. A plugin with rules, derived metrics or metrics that it only declares
// fills sdk::Extra and passes it to CTPROF_PLUGIN_WITH.
//
// A whole plugin, with one metric of the host:
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
#include "ctprof/fields.hpp"
#include "ctprof/files.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"
#include "ctprof/metric.hpp"
#include "ctprof/reads.hpp"
#include "ctprof/source.hpp"
#include "ctprof/table.hpp"
#include "ctprof/text_table.hpp"

namespace ctprof::sdk {

// What a plugin may have beside sources.
//
//   constexpr std::array kOptions{sdk::option("depth", "16", "How many levels are read.")};
//   constexpr sdk::Extra kExtra{.derived = sdk::array_of(kDerived),
//                               .options = sdk::array_of(kOptions)};
//   CTPROF_PLUGIN_WITH("example", "1.0", "...", kExtra, MySource)
//
// Every array must live as long as the plugin does: make each a constant of a namespace.
struct Extra {
  // Of ctprof_metric: declared without an offer, for those that a formula or a mark needs.
  ctprof_array metrics{};
  // Of ctprof_derived: computed per group from what other metrics came to.
  ctprof_array derived{};
  // Of ctprof_rule: rules of the plugin's own.
  ctprof_array rules{};
  // Of const char *: top-level keys of the file that are null when no source fills them.
  ctprof_array objects{};
  // CTPROF_PLUGIN_...; ctprof's own plugins alone have use for them.
  ctprof_plugin_flags flags = 0;
  // What the plugin keeps between its sources; with_context below makes both.
  decltype(ctprof_plugin::open_plugin) open_plugin = nullptr;
  decltype(ctprof_plugin::close_plugin) close_plugin = nullptr;
  // Of ctprof_option: what `--set PLUGIN.KEY=VALUE` may tell it.
  ctprof_array options{};
};

// A context is for what is costly to make and serves every worker: a loaded BPF program, a socket,
// a cache. Its class is made from a Host when the plugin is opened, and destroyed when it is
// closed.
//
//   class Names {                                     // the context
//    public:
//     explicit Names(const sdk::Host& host) : host_(host) {}
//     std::string of(std::uint64_t id) {
//       const std::lock_guard lock(mutex_);             // any worker may call
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
// All sources of the plugin reach it by host.context<Context>(), from any worker, so it has to
// guard itself. Its constructor may throw: then the plugin's offers are refused, with the words of
// the exception.
//
// One context serves one capture. Two captures may run side by side, each with a context of its
// own, so nothing of a plugin belongs in a static variable.
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
// REQUIRES: the array is a constant of a namespace, or static.
template <class Array>
constexpr ctprof_array array_of(const Array& array) {
  return {array.data(), static_cast<std::uint32_t>(array.size()),
          static_cast<std::uint32_t>(sizeof(array[0]))};
}

// The table itself, for plugins that do not use the macros: in a test, say.
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

// The ABI's view of some source classes.
template <class... Sources>
struct SourceList {
  static constexpr std::array<ctprof_source, sizeof...(Sources)> make(const char* plugin_name) {
    return {SourceTable<Sources>::make(plugin_name)...};
  }
};

}  // namespace ctprof::sdk

// The exported constant. Use one of the two once in a plugin, outside every namespace.
//
//   name          lower case letters, digits, - and _; your metrics begin with it
//   version       your own, for `ctprof plugins`
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
