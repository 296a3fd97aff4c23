#include "core/render/stack_line.hpp"

#include <cstdio>

#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

std::string format_hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), number, 16).ptr;
  return "0x" + std::string(digits.begin(), end);
}

std::string format_more(std::size_t more) { return "… (" + std::to_string(more) + " more)"; }

}  // namespace

std::string format_function(const StackFunction& function) {
  std::string text = make_printable_short(function.name);
  if (text.empty())
    text = make_printable_short(function.module) + "+" + format_hexadecimal(function.offset);
  return function.is_guessed ? text + " (guessed)" : text;
}

std::string format_function_with_module(const StackFunction& function) {
  const bool shows_module = function.name.empty() || function.module.empty();
  return format_function(function) +
         (shows_module ? "" : " (" + make_printable_short(function.module) + ")");
}

std::string format_stack(const CommonStacks& common, std::uint32_t stack, std::size_t width) {
  const std::size_t depth = common.depth(stack);
  if (depth == 0) return "[unknown]";
  std::string text, fitting_text;
  std::size_t shown = 0;
  for (; stack != CommonStacks::kEmptyStack && shown < kMaxStackFunctions;
       stack = common.caller(stack)) {
    if (shown++) text += kCallerSeparator;
    StackFunction function = common.functions()[common.function(stack)];
    function.is_guessed = common.is_guessed(stack);
    text += format_function(function);
    if (width == 0 && shown < std::min(depth, kMaxStackFunctions)) continue;
    std::string with_rest = text;
    if (shown < depth) with_rest.append(kCallerSeparator).append(format_more(depth - shown));
    if (shown == 1 || width == 0 || get_display_width(with_rest) <= width)
      fitting_text = std::move(with_rest);
    else if (get_display_width(text) > width)
      break;
  }
  return fitting_text;
}

}  // namespace ctprof
