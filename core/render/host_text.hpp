// How the hosts of two snapshots differ, as a few lines: kernel, command line, tunables, CPU,
// memory first.
//
// All differences, whole, are in the JSON (report_json.hpp).

#pragma once

#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

// Lines, or nothing where there is nothing to say.
std::string host_text(const Report& report, const TextLayout& layout);

}  // namespace ctprof
