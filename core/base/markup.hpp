// Escapes text for HTML, SVG and XML, so that it cannot contain markup.
//
// See also: render/terminal_text.hpp (removes characters that are unsafe to show).

#pragma once

#include <string>
#include <string_view>

namespace ctprof {

// Appends text escaped for use between tags and inside double quotes.
void append_markup(std::string& out, std::string_view text);

}  // namespace ctprof
