// Sections, as show and compare use them: those of the table in ctprof/sections.hpp, in its order,
// then a third party's by name.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "ctprof/sections.hpp"

namespace ctprof {

// The one of that name, or null.
const SectionInfo* find_section(std::string_view name);

// Sorts sections into their order.
std::tuple<std::size_t, std::string_view> section_place(std::string_view name);

// A sentence for each section that was asked for but needs another axis.
std::vector<std::string> misplaced_sections(const Spec& spec);

}  // namespace ctprof
