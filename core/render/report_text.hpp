// A report as text for people: what was read, a table for each section, what only one side has, and
// what was left out.
//
// Not here: its tables' lines (report_lines.hpp), which columns there are (columns.hpp), how a
// table fits the terminal (terminal_text.hpp).

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/compare/report/report.hpp"
#include "core/render/columns.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// `files` names the sides as the user did; `first` is told before all sections.
std::string report_text(const Report& report, std::span<const std::string> files,
                        const ColumnChoice& columns, const TextLayout& layout,
                        std::string_view first = {});

}  // namespace ctprof
