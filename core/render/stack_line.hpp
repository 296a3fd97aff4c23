// A function or a stack as one line of text.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/compare/report/report.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Separates a function from its caller.
inline constexpr std::string_view kCallerSeparator = " ← ";
// Limit on functions shown for one stack; the others are counted.
inline constexpr std::size_t kMaxStackFunctions = 512;

// Formats a function: its name, or its module and offset; guessed functions are marked.
std::string format_function(const StackFunction& function);
// Formats a function with its module: "main (prog)".
std::string format_function_with_module(const StackFunction& function);

// Formats a stack in one line, "leaf ← caller ← its caller". Functions without a name show their
// module. Functions beyond `width` (0: unlimited, but at most 512 functions) are counted at the
// end.
std::string format_stack(const CommonStacks& common, std::uint32_t stack, std::size_t width);

}  // namespace ctprof
