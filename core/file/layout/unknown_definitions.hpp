// What a `registry` says and this version does not know: found beside what it knows, and written
// with it again.

#pragma once

#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/registry_part.hpp"

namespace ctprof {

// Finds it. `json` is the registry's text, of which `registry` has what is known. The error says
// what is wrong with the text.
Result<void> keep_unknown(std::string_view json, RegistryPart& registry);

}  // namespace ctprof
