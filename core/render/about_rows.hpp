// Formats the groups of --about as text: their rows of the first screen, which are tested
// separately, and how many are significant. They precede the rows of all groups, or the tables of
// all metrics.
//
// See also: evidence_text.hpp (the sentence), screen_table.hpp (the table).

#pragma once

#include <cstddef>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Returns at most `limit` rows (0: all) and the number of further rows, ending with the line "all
// groups:". Empty without such groups.
std::string format_about_rows(const Report& report, const TextLayout& layout, std::size_t limit);

}  // namespace ctprof
