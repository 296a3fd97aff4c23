// Writes the sides of a report as JSON, and the differences between their hosts. report_json.hpp
// describes the members.

#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// Call `may_write` before each run, plugin or difference, and omit it if it returns false.

// Writes a member for each side: its file, its first run, and all runs of a side with several runs.
void write_sides(JsonBuilder& json, const Report& report, std::span<const std::string> files,
                 const std::function<bool()>& may_write);
// Writes a member for each candidate; null if a file has no host context.
void write_host_differences(JsonBuilder& json, const Report& report,
                            const std::function<bool()>& may_write);

}  // namespace ctprof
