// What is compared, as a table: a row for each side, with its file, its host, when it was taken,
// its threads, and of windows how many of those were born and ended, and how long they are.
//
// Of a side of several runs the threads are those of the first; the rest is of all, from the least
// to the most.

#pragma once

#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// `files`: a name for each side.
std::string table_of_sides(const Report& report, std::span<const std::string> files,
                           const TextLayout& layout);

// "8 of 4.9 s to 5.1 s": how many runs, and how long they are if they are windows; nothing for one
// snapshot.
std::string runs_in_words(std::span<const RunFacts> runs);

// "a", or "a and 2 others" where the runs are of several hosts.
std::string hosts_in_words(std::span<const RunFacts> runs);

}  // namespace ctprof
