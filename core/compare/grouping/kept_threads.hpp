// What --where leaves of a snapshot's threads: those for which all of some conditions hold.
//
// What is here:   which rows stay.
// What is not:    which conditions are about threads (figures/sorted_where.hpp).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expression/condition.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// By row of a side's threads, whether it stays; empty where all do.
using Kept = std::vector<bool>;

// One for each side. REQUIRES: conditions on threads.
std::vector<Kept> kept_threads(std::span<const Snapshot* const> sides,
                               std::span<const Condition> conditions);

// "--where keeps 3 of 12 threads of the baseline and 4 of 13 of the candidate"; empty where it
// keeps all.
std::string kept_in_words(std::span<const Kept> kept);

// The column of threads that a condition may read, or null.
const Column* find_thread_column(const Snapshot& side, std::string_view name);

}  // namespace ctprof
