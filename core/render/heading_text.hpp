// Formats the heading of a report: which files were read, where and when they were captured, what
// their windows account for, and how they are related.
//
// See also: report_sentences.hpp (sentences after the tables), sides_table.hpp.

#pragma once

#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

std::string format_heading(const Report& report, std::span<const std::string> files,
                           const TextLayout& layout);
// The same for the first screen of sides with several runs: only the sides, and what limits their
// comparison. The rest of the heading, in a few lines for each side, is summarize_runs(), which
// follows the table; empty for sides with a single run.
std::string format_runs_heading(const Report& report, std::span<const std::string> files,
                                const TextLayout& layout);
std::string summarize_runs(const Report& report, const TextLayout& layout);
// Returns a line for each side whose boot differs from that of the first side, or is unknown.
std::string describe_other_boots(const Report& report);

}  // namespace ctprof
