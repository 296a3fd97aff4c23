// Cgroups that were renamed between two captures, in sentences for people.

#pragma once

#include <string>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

// "cgroup '/a' of the baseline is '/b' in the candidate: 12 of 12 kinds of threads (100.0%)", and
// what else there is to say of the pair.
std::string rename_in_words(const CgroupRename& rename);

// The section on them, with the limit of any other; empty where none was.
std::string renames_text(const Report& report, const TextLayout& layout);

}  // namespace ctprof
