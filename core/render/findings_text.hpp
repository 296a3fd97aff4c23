// Formats findings as text: one sentence each, and the command that continues the investigation.
//
//   1 server waited 1.9 s for a CPU in 2.0 s (61 % of the time that it was runnable), while burner
//   ...
//     ctprof show after.ctprof.zst --group-by comm --where 'pcomm == "server"'
//
// Names and settings of a file are escaped. A command consists of fixed words and of file and group
// names, which are quoted for a shell. A name that is not plain text has no command.
//
// See also: compare/report/findings.hpp (the rules).

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/compare/report/findings.hpp"
#include "core/render/row_json.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// The parts of the commands that continue an investigation.
struct CommandSource {
  // A name for each side, as typed by the user.
  std::span<const std::string> files;
  // The command that records where threads wait, which the core does not know; may be empty.
  std::string record_command{};
  // The command that shows the report again, such as "ctprof show log --since '15:00'"; empty if it
  // consists of the names in `files`.
  std::string command{};
};

// Formats as many findings as fit into `lines` lines, but at least one; empty if there are none.
// The command of consecutive findings with the same command follows the last of them. Commands are
// broken at arguments, with a backslash, so that a shell accepts them.
std::string format_findings(const Report& report, const CommandSource& source,
                            const TextLayout& layout, std::size_t lines);

// Returns printable text such as "server waited 1.9 s for a CPU in 2.0 s".
std::string format_finding(const Finding& finding);

// Returns the command that continues the investigation; empty if there is none.
std::string make_next_command(const Report& report, const Finding& finding,
                              const CommandSource& source);

// Describes all rules with their thresholds.
std::string describe_finding_rules(const TextLayout& layout);

// Writes the member `findings`.
void write_findings(JsonBuilder& json, const Report& report);

}  // namespace ctprof
