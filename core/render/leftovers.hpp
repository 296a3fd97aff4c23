// What a report's tables leave out, in sentences: metrics without values and why, what files
// disagreed on.

#pragma once

#include <string>

#include "core/compare/report/report.hpp"

namespace ctprof {

// One sentence a line, wrapped at `width` (0: never); empty when there is nothing to say.
std::string leftovers(const Report& report, std::size_t width);

// Words with blanks between, broken into lines of at most `width`; later lines are indented.
std::string wrapped(const std::string& text, std::size_t width);

}  // namespace ctprof
