// What became of each plugin's offers on this host, what plugins lack, each reason once, and what a
// remedy would bring. For `ctprof plugins` and `ctprof doctor`.
//
// A remedy counts if its offer would win afterwards: if nothing fills the metric now, if a source
// of lower rank does, or if the offer has won already but leaves gaps.

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/registry/probed.hpp"

namespace ctprof::cli {

// Refers to the Probed that it was made of.
struct Verdict {
  const ProbedField* field;
  const ProbedOffer* offer;
  std::string state;  // "fills", "also available", or a gap's name
  std::string reason;
  bool on_request = false;  // a recorder's: it works only if the user names it

  bool works() const { return field->chosen() == offer; }
  bool fills() const { return works() && !on_request; }
  bool is_refused() const { return offer->verdict != Gap::None; }
};

// The verdicts on all offers of a plugin but hidden ones.
std::vector<Verdict> verdicts_on(const Plugin& plugin, const Probed& probed);

// "refused":[...] of a registry.
void put_refused(JsonWriter& out, const Registry& registry);
std::string text_of_refused(const Registry& registry);

// The state of a metric that a plugin fills, but not in every row.
inline constexpr const char* kInPart = "in part";

// Metrics of one plugin that are empty, or have gaps, for the same reason.
struct Finding {
  std::string state;  // a gap's name, or "in part" where the plugin fills them
  std::string reason;
  Remedy remedy;
  std::vector<std::string> metrics;
  std::size_t unfilled = 0;  // of these, how many no other source fills
};

struct Diagnosis {
  const Plugin* plugin;
  std::size_t fills = 0;
  std::size_t second = 0;      // those that it does not fill: another source fills them better, or
  std::size_t on_request = 0;  // they are recorded on request
  std::size_t refused = 0;     // those that it cannot fill here
  std::vector<Finding> findings{};
};

// Of all plugins that are shown.
std::vector<Diagnosis> diagnose(const Probed& probed);

// What one remedy can bring: metrics, and the plugins that would fill them.
struct Gain {
  Remedy remedy;
  bool for_root_alone =
      false;  // capabilities for plugins that a ctprof with capabilities of its file would not load
  std::set<std::string> plugins{};
  std::set<std::string> filled{};  // nothing fills them now
  std::set<std::string> better{};  // a source of lower rank does
  std::set<std::string> fuller{};  // of more rows
};

// All remedies that bring something, each once, in the order of plugins. A capability can occur
// twice: for ctprof's own plugins and for others.
std::vector<Gain> gains(const Probed& probed);

}  // namespace ctprof::cli
