// Formats a report as text: the files that were read, a table for each section, groups that only
// one side has, and omitted metrics.
//
// See also: report_lines.hpp (lines of tables), columns.hpp (columns), terminal_text.hpp (layout).

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/compare/report/report.hpp"
#include "core/render/columns.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// `files` are the names of the sides as typed by the user; `preface` precedes all sections.
std::string format_report_text(const Report& report, std::span<const std::string> files,
                               const ColumnChoice& columns, const TextLayout& layout,
                               std::string_view preface = {});

}  // namespace ctprof
