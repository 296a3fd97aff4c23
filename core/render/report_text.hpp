// A report as text for people: what was read, a table for each section, what stands on one side
// only, and what was left out.
//
// What is here:   show and compare, whole.
// What is not:    their JSON (report_json.hpp); which columns there are (columns.hpp); how a table
// fits the terminal (text_table.hpp).

#pragma once

#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/columns.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

// `files` names the sides as the user did.
std::string report_text(const Report& report, std::span<const std::string> files,
                        const ColumnChoice& columns, const TextLayout& layout);

}  // namespace ctprof
