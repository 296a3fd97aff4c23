// One finding of a report: the group or thread, its problem, and the next step to take.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/registry/metric_def.hpp"

namespace ctprof {

// The next step of the investigation.
enum class NextStep : std::uint8_t {
  Threads,   // the threads of the group in this window
  Cgroups,   // the window by cgroups
  Rows,      // the rows of the entity in Finding::entity
  Waits,     // a new recording of stacks of waiting threads
  Settings,  // all values of the group
  States,    // the states of the group's processes
  Figures,   // the metrics of Finding::section
  Nothing,   // no ctprof command shows more
};

struct Finding {
  std::string_view rule;               // a name in finding_rules(), or a derived metric
  std::optional<std::uint32_t> group;  // no value: a cgroup identified by its path, or the host
  std::string subject;                 // the subject: the name as in the file, not escaped
  std::string statement;               // the rest of the sentence, not escaped
  double weight = 0;
  NextStep next = NextStep::Threads;
  std::optional<Entity> entity{};  // a plugin's entity, for NextStep::Rows
  std::string_view section{};      // for NextStep::Figures
};

}  // namespace ctprof
