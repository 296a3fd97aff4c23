// The section `stacks` as text: of each metric and group a table of functions, and one of stacks,
// leaf first.
//
// What a function or stack has is told in percent of what its group has, and in the metric's unit.
// Of waits there is one table, of waits as an application sees them (folded_waits.hpp):
//
//   4.20s  98.6%  handle_get → pthread_mutex_lock (futex) ← serve ← main
//
// Several sides stand in one cell, "10.0→15.0"; what changed most comes first. Where functions are
// judged, a change that is not proven has ~ before it, and all have their p.
//
// Not here: which rows there are (compare/report/stack_section.hpp), their JSON (stacks_json.hpp).

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/compare/report/report.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Between a function and its caller.
inline constexpr std::string_view kCalledBy = " ← ";
// Functions of one stack; more are counted.
inline constexpr std::size_t kMostStackFunctions = 512;

// A function for people: its name, or its module and its place there; marked where it was guessed.
std::string function_text(const StackFunction& function);
// The same with its module: "main (prog)".
std::string function_in_module(const StackFunction& function);

// The stack in one line, "leaf ← caller ← its caller", with the modules of functions that have no
// name. What is beyond `width` is counted at its end (0: any width; but 512 functions at most).
std::string stack_text(const StackBook& book, std::uint32_t stack, std::size_t width);

// Empty if there are no stacks. Of waits, those that are idle are counted, and shown with
// `shows_idle`; groups that only have such are counted too. `rows`: of groups, of functions and of
// stacks each, 0: all; none: a few.
std::string stacks_text(const Report& report, const TextLayout& layout,
                        const std::optional<std::size_t>& rows, bool shows_idle = false);

}  // namespace ctprof
