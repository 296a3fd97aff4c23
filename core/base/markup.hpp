// Text inside HTML, SVG and XML, where whatever stands in it stays text.
//
// Not here: which letters are safe to show at all (render/terminal_text.hpp).

#pragma once

#include <string>
#include <string_view>

namespace ctprof {

// Appends text as it stands between tags and inside double quotes.
void append_markup(std::string& out, std::string_view text);

}  // namespace ctprof
