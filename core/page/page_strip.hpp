// Draws the figures of a row without a script: the runs as dots, or where there is only one run the
// figures of the sides as bars. The text beside it has the same figures.

#pragma once

#include <string>

#include "core/page/page_rows.hpp"

namespace ctprof {

// Appends an SVG of the width in page.css; nothing for a row without numbers.
void append_strip(std::string& out, const PageRow& row);

}  // namespace ctprof
