// Strings in JSON: always valid UTF-8, whatever bytes the system gave.

#pragma once

#include <string>
#include <string_view>

namespace ctprof {

// Quoted and escaped. A byte that is not part of valid UTF-8 becomes U+FFFD.
void append_json(std::string& out, std::string_view text);

}  // namespace ctprof
