// The version of ctprof, from the build.

#pragma once

#include <string_view>

namespace ctprof {

extern const std::string_view kVersion;

}  // namespace ctprof
