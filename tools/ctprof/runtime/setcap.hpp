// Builds the setcap command that gives this executable capabilities, or explains why none would
// help.
//
// setcap replaces all capabilities of a file, so the command repeats those that the file already
// has. It omits capabilities outside the bounding set of this process, because the kernel would
// then refuse to execute the file. The plugins declare which capabilities they need.

#pragma once

#include <set>
#include <string>
#include <vector>

namespace ctprof::cli {

struct Setcap {
  std::string command;             // for a root shell; empty if it would not help
  std::vector<std::string> notes;  // notes about the command, or why there is none
};

// `wanted`: lists such as "cap_bpf,cap_perfmon". Unknown names are ignored.
Setcap setcap_for(const std::set<std::string>& wanted);

// Whether sudo would give a command privileges on the host. This works only in the initial user
// namespace and without no_new_privs.
bool sudo_would_work();

// Whether sudo would also give all of these capabilities: "cap_bpf,cap_perfmon". The bounding set
// limits root too.
bool sudo_would_grant(const std::string& capabilities);

// `word`, quoted for a shell if necessary.
std::string quote_for_shell(const std::string& word);

}  // namespace ctprof::cli
