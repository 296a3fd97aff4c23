// Findings as text: a sentence each, and the command that continues the investigation.
//
//   1 server waited 1.9 s for a CPU in 2.0 s (61 % of the time that it wanted one), while burner
//   ...
//     ctprof show after.ctprof.zst --group-by comm --where 'pcomm == "server"'
//
// Names and settings of a file are escaped. A command consists of words of ours and of file and
// group names, which are quoted for a shell. A name that is not plain text has no command.
//
// Not here: the rules (compare/report/findings.hpp).

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/compare/report/findings.hpp"
#include "core/render/row_json.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// As many as fit `lines` lines, but at least one. Empty where nothing was found. `files`: a name
// for each side, as the user wrote it. `record_waits`: the command that records where threads wait,
// which the core does not know; may be empty.
std::string findings_text(const Report& report, std::span<const std::string> files,
                          const TextLayout& layout, std::size_t lines,
                          const std::string& record_waits);

// "server waited 1.9 s for a CPU in 2.0 s": printable text.
std::string finding_sentence(const Finding& finding);

// The command that continues the investigation; empty where there is none.
std::string next_command(const Report& report, const Finding& finding,
                         std::span<const std::string> files, const std::string& record_waits);

// All rules with their thresholds, for people.
std::string findings_help(const TextLayout& layout);

// Writes the member `findings`.
void write_findings(JsonPieces& json, const Report& report);

}  // namespace ctprof
