// What text tells in sentences, after the tables: cgroups that were renamed, metrics without values
// and why, and notes.

#pragma once

#include <string>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Metrics without values and why, and notes: one sentence a line, wrapped at `width` (0: never).
// Empty if there is nothing to say.
std::string leftovers(const Report& report, std::size_t width);

// Breaks words into lines of at most `width`; all but the first are indented.
std::string wrapped(const std::string& text, std::size_t width);

// "cgroup '/a' of the baseline is '/b' in the candidate: 12 of 12 kinds of threads (100.0%)", and
// how the two differ.
std::string rename_in_words(const CgroupRename& rename);

// The section on renamed cgroups, limited like any other; empty if there are none.
std::string renames_text(const Report& report, const TextLayout& layout);

}  // namespace ctprof
