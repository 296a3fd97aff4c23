// The capabilities of the host at this time: opens every plugin, probes every source, and keeps all
// results.
//
//   const Registry registry(*load_plugins(...));      // once
//   const ProbedHost probed(registry, roots.host());      // whenever the host may have changed
//   const Plan plan = *make_plan(probed, requested);
//
// The registry does not change, but a host does (a setting changes, a scheduler is loaded), so old
// results may be wrong. Each plugin's context (open_plugin and close_plugin in abi.h) lives as long
// as the ProbedHost; the sources of a plugin share it.
//
// If a plugin cannot be opened, all its offers are refused as SourceFailed, with the plugin's
// message.
//
// Ownership: refers to the registry and to the host's directories, which must outlive it. Any
// thread may read it.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/registry.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {

// A change that would make a metric available; kind NONE if none is known.
struct Remedy {
  ctprof_remedy kind = CTPROF_REMEDY_NONE;
  std::string text;

  friend bool operator==(const Remedy&, const Remedy&) = default;
};

// A gap that remains although the source works, with a remedy.
struct RemainingGap {
  std::string description;
  Remedy remedy;
};

// An offer, and the result of probing its source on this host.
struct ProbedOffer : Offer {
  Gap refusal = Gap::None;  // the reason why the source cannot fill the metric; None if it can
  std::string reason{};
  Remedy remedy{};  // a change that would remove the refusal
  std::vector<RemainingGap> remaining_gaps{};
};

struct ProbedMetric {
  SharedMetric def;
  std::vector<ProbedOffer> offers;  // in the registry's order: highest rank first

  // Returns the offer that a capture uses: the first that works, or null.
  const ProbedOffer* find_selected_offer() const;
};

// A source that works while a window is open, with the result for each offer.
struct ProbedRecorder {
  const Plugin* plugin;
  const SourceTable* source;
  std::vector<ProbedOffer> offers;  // in the source's order
};

// Selects the sources to probe among those that work while a window is open: none, only those that
// report exited threads, or also those that record call stacks.
enum class RecorderSelection { None, ExitedThreads, All };

// A plugin's context on a host, from open_plugin to close_plugin.
class PluginContext {
 public:
  PluginContext() = default;
  // REQUIRES: the host, with the plugin's options, outlives it.
  PluginContext(const Plugin& plugin, const ctprof_host& host);
  PluginContext(PluginContext&& other) noexcept;
  PluginContext& operator=(PluginContext&& other) noexcept;
  ~PluginContext();

  void* get() const { return context_; }
  // Returns why the plugin could not be opened, or "".
  const std::string& failure() const { return failure_; }

 private:
  std::string path_;
  void (*close_)(void*) = nullptr;  // null if nothing must be closed
  void* context_ = nullptr;
  std::string failure_;
};

// Contexts that were created while other plugins were loaded, by the plugin's path.
using EarlyContexts = std::map<std::string, PluginContext>;

class ProbedHost {
 public:
  // `early_contexts`: the contexts of plugins that are already open on this host.
  ProbedHost(const Registry& registry, const ctprof_host& host,
             RecorderSelection recorders = RecorderSelection::None,
             EarlyContexts early_contexts = {});
  ProbedHost(ProbedHost&&) noexcept = default;
  ProbedHost& operator=(ProbedHost&&) = delete;

  const Registry& registry() const { return *registry_; }
  const std::vector<ProbedMetric>& metrics() const { return metrics_; }
  // In the registry's order: highest rank first.
  const std::vector<ProbedRecorder>& recorders() const { return recorders_; }
  // The stack metrics that the recorders record, each with its one offer.
  const std::vector<ProbedMetric>& stack_metrics() const { return stack_metrics_; }
  // Returns null if no loaded plugin offers the metric.
  const ProbedMetric* find(std::string_view metric) const;
  // Plugins that could not be opened, and sources that threw when probed, with the message. None of
  // their offers is used.
  const std::vector<Refusal>& failures() const { return failures_; }
  // Returns the host as passed to a plugin's functions, with that plugin's context.
  ctprof_host host_for(const Plugin& plugin) const;

 private:
  struct OpenedPlugin {
    const Plugin* plugin;
    PluginContext context{};
    std::vector<ctprof_setting> settings{};
  };

  void open_plugin(const Plugin& plugin, EarlyContexts& early_contexts);
  ctprof_host host_for(const OpenedPlugin& opened) const;
  void probe_plugin(const OpenedPlugin& opened);
  void probe_plugin(const OpenedPlugin& opened, const SourceTable& source);
  void collect_stacks();

  const Registry* registry_;
  ctprof_host host_;
  std::vector<OpenedPlugin> opened_plugins_;
  std::vector<ProbedMetric> metrics_;
  std::vector<ProbedRecorder> recorders_;
  std::vector<ProbedMetric> stack_metrics_;
  std::vector<Refusal> failures_;
};

}  // namespace ctprof
