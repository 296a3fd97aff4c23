// Evaluates each plugin's offers on this host: their state, what the plugins lack, and what a
// remedy would improve. For `ctprof plugins` and `ctprof doctor`.
//
// A remedy counts if its offer would be selected afterwards: nothing fills the metric now, or a
// source of lower rank does, or the offer is selected already but leaves gaps.

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/registry/probed_host.hpp"

namespace ctprof::cli {

// The state of an offer. Refers to the ProbedHost from which it was made.
struct OfferStatus {
  const ProbedMetric* field;
  const ProbedOffer* offer;
  std::string state;  // "fills", "also available", or a gap's name
  std::string reason;
  bool on_request = false;  // an offer of a recorder: it works only if the user names the recorder

  bool works() const { return field->find_selected_offer() == offer; }
  bool fills() const { return works() && !on_request; }
  bool is_refused() const { return offer->refusal != Gap::None; }
};

// Returns the states of all offers of a plugin, except for hidden metrics.
std::vector<OfferStatus> collect_offer_statuses(const Plugin& plugin, const ProbedHost& probed);

// Writes "refused":[...], the refused plugins of a registry.
void put_refused_plugins(JsonWriter& out, const Registry& registry);
std::string format_refused_plugins(const Registry& registry);

// The state of a metric that a plugin fills, but not in every row.
inline constexpr const char* kPartlyFilled = "in part";

// Metrics of the same plugin that are empty or have gaps for the same reason.
struct Finding {
  std::string state;  // a gap's name, or "in part" if the plugin fills them
  std::string reason;
  Remedy remedy;
  std::vector<std::string> metrics;
  std::size_t unfilled = 0;  // how many of these no other source fills
};

struct Diagnosis {
  const Plugin* plugin;
  std::size_t fills = 0;
  // Metrics that the plugin could fill, but that a better source or a recorder fills.
  std::size_t filled_by_others = 0;
  std::size_t on_request = 0;  // of these, metrics that a recorder records on request
  std::size_t refused = 0;     // metrics that the plugin cannot fill here
  std::vector<Finding> findings{};
};

// Diagnoses all plugins that are shown.
std::vector<Diagnosis> diagnose(const ProbedHost& probed);

// The effect of one remedy: the metrics that it would improve, and the plugins that would fill
// them.
struct Gain {
  Remedy remedy;
  // The remedy is capabilities, for plugins that a ctprof with file capabilities would not load.
  bool only_for_root = false;
  std::set<std::string> plugins{};
  std::set<std::string> newly_filled{};   // nothing fills them now
  std::set<std::string> better_filled{};  // a source of lower rank fills them now
  std::set<std::string> more_complete{};  // filled now, but in fewer rows
};

// Returns all effective remedies, each once, in the order of plugins. A capability can occur twice:
// for ctprof's own plugins and for others.
std::vector<Gain> find_gains(const ProbedHost& probed);

}  // namespace ctprof::cli
