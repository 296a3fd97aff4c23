// What plugins lack on this host, each reason once, and what a remedy would bring.
//
// A remedy counts if its offer would win afterwards: if nothing fills the metric now, if a source
// of lower rank does, or if the offer has won already but still leaves gaps.

#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/registry/probed.hpp"

namespace ctprof::cli {

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
  std::size_t second = 0;   // those that another source fills better
  std::size_t refused = 0;  // those that it cannot fill here
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
