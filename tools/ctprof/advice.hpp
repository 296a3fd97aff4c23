// All that doctor has to say: what plugins lack, and the commands that root can paste.
//
// Of a recorded tree there are no commands: they would be for another host than this.
//
// What is here:   which commands there are; the JSON of it all is in advice_json.cc.
// What is not:    what is lacking (findings.hpp), how capabilities are given (setcap.hpp), the text
// for people (doctor.cc).

#pragma once

#include <string>
#include <vector>

#include "tools/ctprof/findings.hpp"

namespace ctprof::cli {

// A command that can be pasted, and what each of its parts can bring.
struct Command {
  std::string text;
  std::vector<Gain> gains;
};

struct Advice {
  bool live = true;
  std::vector<Diagnosis> diagnoses;
  std::vector<Gain> gains;
  std::vector<Command> commands;
  std::vector<std::string> notes;  // on commands, and on those that are not there
};

//
Advice advice_on(const Probed& probed, bool live);

// A line, as tools/ctprof/schema/doctor.json says.
std::string json_of(const Advice& advice, const Registry& registry);

}  // namespace ctprof::cli
