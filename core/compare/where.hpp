// --where: which threads are grouped, and which groups are told.
//
// A condition that names `threads` or `group` is about groups, any other about threads, by their metrics that are numbers or texts. All
// must hold. Under compare a group stays whole when the condition holds on either side, so that exchanging the files changes nothing.
//
// What is here:   reading the conditions, and what they leave.
// What is not:    how a condition is decided (expression/condition.hpp).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expression/condition.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct Where {
  std::vector<Condition> threads{};
  std::vector<Condition> groups{};
  bool empty() const { return threads.empty() && groups.empty(); }
};

// Adds one condition to those that must hold. The error says what is wrong with the text alone.
Result<void> add_condition(Where& where, std::string_view text);

// By row of a side's threads, whether it stays; empty where all do.
using Kept = std::vector<bool>;

// One for each side. The error names what no file holds, and offers the nearest.
Result<std::vector<Kept>> kept_threads(std::span<const Snapshot* const> sides, const Where& where);

// "--where keeps 3 of 12 threads of the baseline and 4 of 13 of the candidate"; empty where it keeps all.
std::string kept_in_words(std::span<const Kept> kept);

// Whether the group of that name stays. REQUIRES: its threads on each side that has it.
bool keeps_group(const Where& where, std::string_view name, std::span<const std::uint64_t> threads);

}  // namespace ctprof
