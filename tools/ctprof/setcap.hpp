// The command that gives this executable capabilities, or why none would.
//
// setcap sets a file's capabilities anew, so those that the file has are named again. A capability
// that is beyond this process's bounding set would keep the file from being executed at all, and is
// left out.
//
// What is here:   the executable, its place, and what it has.
// What is not:    who needs which capability: plugins say that.

#pragma once

#include <set>
#include <string>
#include <vector>

namespace ctprof::cli {

struct Setcap {
  std::string command;             // for root's shell; empty where it would not help
  std::vector<std::string> notes;  // what to know of it, or why there is none
};

// `wanted`: lists such as "cap_bpf,cap_perfmon". What names no capability is left out.
Setcap setcap_for(const std::set<std::string>& wanted);

// One word for a shell.
std::string quoted(const std::string& word);

}  // namespace ctprof::cli
