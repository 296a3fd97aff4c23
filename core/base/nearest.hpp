// The nearest of some names to a misspelt one.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ctprof {

// " (did you mean 'x'?)" when one of `names` is near enough to `word` to be offered, else nothing.
std::string nearest_hint(std::string_view word, std::span<const std::string> names);

}  // namespace ctprof
