// What plugins lack on this host, each reason once, and what a remedy would bring.
//
// A remedy is worth something where its offer would win then: where nothing fills the metric now,
// where a source of lower rank does, or where the offer has won and lacks something all the same.
//
// What is here:   counting and gathering.
// What is not:    judging offers (verdicts.hpp), commands (setcap.hpp), telling (doctor.cc).

#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/registry/probed.hpp"

namespace ctprof::cli {

// State of what a plugin fills, and not for every row.
inline constexpr const char* kInPart = "in part";

// Some metrics of one plugin that are empty, or have gaps, for one reason.
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

// What one remedy can bring: names of metrics, and whose they would be.
struct Gain {
  Remedy remedy;
  bool for_root_alone =
      false;  // capabilities for plugins that a ctprof with capabilities of its file would not load
  std::set<std::string> plugins{};
  std::set<std::string> filled{};  // nothing fills them now
  std::set<std::string> better{};  // a source of lower rank does
  std::set<std::string> fuller{};  // of more rows
};

// All remedies that are worth something, each once, in the order of plugins. Capabilities may be
// there twice, for plugins of ctprof's own directory and for others.
std::vector<Gain> gains(const Probed& probed);

}  // namespace ctprof::cli
