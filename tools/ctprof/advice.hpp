// What `ctprof doctor` reports: what each plugin lacks, and commands for root to paste.
//
// For a recorded tree there are no commands: they would be meant for another host.

#pragma once

#include <string>
#include <vector>

#include "tools/ctprof/findings.hpp"

namespace ctprof::cli {

// A command to paste, and what each of its parts can bring.
struct Command {
  std::string text;
  std::vector<Gain> gains;
};

struct Advice {
  bool live = true;
  std::vector<Diagnosis> diagnoses;
  std::vector<Gain> gains;
  std::vector<Command> commands;
  std::vector<std::string> notes;  // about commands, and about those that are left out
};

//
Advice advice_on(const Probed& probed, bool live);

// One line of JSON, as described by tools/ctprof/schema/doctor.json.
std::string json_of(const Advice& advice, const Registry& registry);

}  // namespace ctprof::cli
