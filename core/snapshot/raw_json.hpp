// JSON that is kept as text: summaries, the host's context, and data that this version of ctprof
// does not know.

#pragma once

#include <string>

namespace ctprof {

using RawJson = std::string;

}  // namespace ctprof
