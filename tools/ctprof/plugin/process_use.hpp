// The resources of this process that a plugin can leak, and the state that it must not change.
//
//   const ProcessState before;
//   std::vector<ResourceUse> uses;
//   ...                                   // a capture, then uses.emplace_back(); several times
//   report_leaks(uses, findings);
//   report_changes(before, path, findings);
//
// ctprof itself restores the working directory, the locale, the file mode mask and the blocked
// signals after calls of plugins (core/registry/process_state_guard.hpp).

#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tools/ctprof/plugin/findings.hpp"

namespace ctprof::cli {

// After the first captures, a correct plugin allocates no additional resources.
inline constexpr std::size_t kWarmupRounds = 2;

// What the process has after a capture.
struct ResourceUse {
  ResourceUse();
  std::size_t descriptors, threads;
  std::size_t allocated_bytes;  // by malloc
  std::size_t mapped_bytes;     // otherwise
};

// Reports resources that grow in each capture, and processes that were started.
void report_leaks(const std::vector<ResourceUse>& uses, Findings& findings);

struct ProcessState {
  ProcessState();
  std::array<struct sigaction, NSIG> signal_actions{};
  std::array<rlimit, RLIM_NLIMITS> limits{};
  std::vector<std::string> environment;
  std::map<int, std::string> descriptors;  // open ones, and their files
  bool has_timer;
};

// Reports the state that differs now. `library` is the path of the plugin.
void report_changes(const ProcessState& before, const std::string& library, Findings& findings);

}  // namespace ctprof::cli
