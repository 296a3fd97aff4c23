// The groups of --about as text: their rows of the first screen, tested by themselves, and how many
// are significant. They precede the rows of all groups, or the tables of all metrics.
//
// Not here: the sentence by itself (evidence_text.hpp), the table (screen_table.hpp).

#pragma once

#include <cstddef>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Empty without such groups. At most `limit` rows (0: all), and how many more there are. Ends with
// the line "all groups:".
std::string about_rows(const Report& report, const TextLayout& layout, std::size_t limit);

}  // namespace ctprof
