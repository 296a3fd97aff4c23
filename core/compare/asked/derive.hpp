// --derive 'name = expression': metrics of the user's own, by the grammar of registered ones.
//
// What is here:   reading one.
// What is not:    what its names are (figures/added_derived.hpp), computing it (figures/).

#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"

namespace ctprof {

// The error says what is wrong with the text alone. Entity and unit follow from the inputs, once
// they are known.
Result<DerivedDef> parse_derive(std::string_view text);

// "reading --derive '<text>': <cause>"
Error derive_refusal(std::string_view text, const std::string& cause);

}  // namespace ctprof
