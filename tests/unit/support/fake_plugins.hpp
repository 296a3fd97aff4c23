// Builds plugins inside a test, in the form in which the loader returns them.

#pragma once

#include <array>
#include <string>

#include "core/registry/loader.hpp"
#include "core/registry/plugin.hpp"
#include "core/registry/registry.hpp"
#include "ctprof/plugin.hpp"

namespace ctprof::fake {

inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kOne{
    {.name = "one", .description = "one"}};
inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kTwo{
    {.name = "two", .description = "two"}};
inline constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kOneAsGauge{
    {.name = "one", .description = "one"}};

// A source that offers one metric and refuses it at probe time if kRefuses is true.
template <const auto& Metric, int Rank = 0, bool kRefuses = false>
struct OfferingSource : sdk::ThreadSource {
  static constexpr auto kOffers = sdk::offers(Metric);
  static constexpr std::int32_t kRank = Rank;
  static void probe(const sdk::Host&, const sdk::Probe& probe) {
    if (kRefuses) probe.refuse_all(Gap::SwitchedOff, "the switch is off");
  }
  explicit OfferingSource(const sdk::Host&) {}
  void collect(const sdk::Batch& batch) {
    auto column = batch.column(Metric);
    for (const sdk::Thread thread : batch.threads()) column.put(thread, thread.tid);
  }
};

// As Offers, but the source also reads the column `Column`.
template <const auto& Metric, const char* const& Column>
struct ReadingSource : OfferingSource<Metric> {
  static constexpr std::array kReads{Column};
  using OfferingSource<Metric>::OfferingSource;
};

// Returns a loaded plugin with the specified source classes.
template <class... Sources>
Plugin make_fake_plugin(const char* name, bool shipped = true) {
  const auto sources = sdk::SourceList<Sources...>::make(name);
  const ctprof_plugin table = sdk::make_plugin(name, "1", "", sources);
  Plugin made = read_plugin(table, sizeof table).value();
  made.path = std::string(name) + ".so";
  made.is_shipped = shipped;
  return made;
}

// Returns a loaded plugin of ctprof whose source uses a context.
template <class Context, class Source>
Plugin make_plugin_with_context(const char* name) {
  static const auto sources = sdk::SourceList<Source>::make("keeper");
  const ctprof_plugin table =
      sdk::make_plugin(name, "1", "", sources, sdk::with_context<Context>());
  Plugin made = read_plugin(table, sizeof table).value();
  made.is_shipped = true;
  return made;
}

inline Registry make_registry(std::vector<Plugin> plugins) {
  return Registry(LoadedPlugins{std::move(plugins), {}});
}

inline ctprof_host host_without_files() {
  ctprof_host host{};
  host.size = sizeof host;
  host.proc_fd = host.sys_fd = host.cgroup_fd = -1;
  return host;
}

}  // namespace ctprof::fake
