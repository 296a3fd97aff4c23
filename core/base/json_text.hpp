// Strings in JSON: always valid UTF-8, whatever bytes the system gave, and nothing in it that moves
// a terminal or hides on one, for whoever lets JSON run over it.

#pragma once

#include <string>
#include <string_view>

namespace ctprof {

// Quoted and escaped. A byte that is not part of valid UTF-8 becomes U+FFFD.
void append_json(std::string& out, std::string_view text);

// The same of JSON that is made: its strings are escaped further. REQUIRES: valid JSON without
// blanks outside strings.
void append_made_json(std::string& out, std::string_view json);

}  // namespace ctprof
