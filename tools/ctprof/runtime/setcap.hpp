// The command that gives this executable capabilities, or the reason why none would help.
//
// setcap replaces a file's capabilities, so those that the file already has are repeated. A
// capability outside this process's bounding set is left out: it would keep the file from being
// executed at all. Which plugin needs which capability is said by the plugins.

#pragma once

#include <set>
#include <string>
#include <vector>

namespace ctprof::cli {

struct Setcap {
  std::string command;             // for root's shell; empty where it would not help
  std::vector<std::string> notes;  // what to know of it, or why there is none
};

// `wanted`: lists such as "cap_bpf,cap_perfmon". Unknown names are ignored.
Setcap setcap_for(const std::set<std::string>& wanted);

// Whether sudo would give a command rights over the host: only in the first user namespace, and
// only without no_new_privs.
bool sudo_would_work();

// The same, with all of these capabilities: "cap_bpf,cap_perfmon". The bounding set limits root
// too.
bool sudo_would_give(const std::string& capabilities);

// `word`, quoted for a shell if necessary.
std::string quoted(const std::string& word);

}  // namespace ctprof::cli
