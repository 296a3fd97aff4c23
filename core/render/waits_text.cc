#include "core/render/waits_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/render/stack_line.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

// Libraries that every program calls: their functions do not explain the reason for a wait.
constexpr std::array<std::string_view, 7> kLibraries{
    "libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "libstdc++", "[vdso]"};

bool is_in_library(const StackFunction& function) {
  return std::ranges::any_of(
      kLibraries, [&](std::string_view library) { return function.module.starts_with(library); });
}

// Returns the stack from the first function of the application on; the whole stack if it has none.
std::uint32_t find_application(const CommonStacks& common, std::uint32_t stack) {
  for (std::uint32_t at = stack; at != CommonStacks::kEmptyStack; at = common.caller(at))
    if (!is_in_library(common.functions()[common.function(at)])) return at;
  return stack;
}

// Returns the function that the application called; empty if it made the system call itself.
std::string find_callee(const CommonStacks& common, std::uint32_t stack,
                        std::uint32_t application) {
  std::uint32_t callee = CommonStacks::kEmptyStack;
  for (std::uint32_t at = stack; at != application; at = common.caller(at)) callee = at;
  return callee == CommonStacks::kEmptyStack
             ? ""
             : format_function(common.functions()[common.function(callee)]);
}

}  // namespace

std::string format_wait(const CommonStacks& common, const MergedWait& wait, std::size_t width) {
  if (wait.call.empty() || wait.stack == CommonStacks::kEmptyStack)
    return format_stack(common, wait.stack, width);
  const std::uint32_t application = find_application(common, wait.stack);
  const std::string called = find_callee(common, wait.stack, application);
  std::string text = format_function(common.functions()[common.function(application)]);
  if (!called.empty()) text += " → " + called;
  text += " (" + make_printable_short(wait.call) + ")";
  const std::uint32_t caller = common.caller(application);
  if (caller == CommonStacks::kEmptyStack) return text;
  const std::size_t used_width = get_display_width(text) + get_display_width(kCallerSeparator);
  if (width > 0 && used_width >= width) return text;
  const std::string rest = format_stack(common, caller, width == 0 ? 0 : width - used_width);
  const bool fits = width == 0 || used_width + get_display_width(rest) <= width;
  return fits ? text + std::string(kCallerSeparator) + rest : text;
}

}  // namespace ctprof
