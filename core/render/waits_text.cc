#include "core/render/waits_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/render/stacks_text.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

// Libraries that every program calls: their functions do not explain the reason for a wait.
constexpr std::array<std::string_view, 7> kLibraries{
    "libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "libstdc++", "[vdso]"};

bool is_of_library(const StackFunction& function) {
  return std::ranges::any_of(
      kLibraries, [&](std::string_view library) { return function.module.starts_with(library); });
}

// Returns the stack from the first function of the application on; the whole stack if it has none.
std::uint32_t application_of(const StackBook& book, std::uint32_t stack) {
  for (std::uint32_t at = stack; at != StackBook::kEmpty; at = book.caller(at))
    if (!is_of_library(book.functions()[book.function(at)])) return at;
  return stack;
}

// Returns the function that the application called; empty if it made the system call itself.
std::string called_by(const StackBook& book, std::uint32_t stack, std::uint32_t application) {
  std::uint32_t called = StackBook::kEmpty;
  for (std::uint32_t at = stack; at != application; at = book.caller(at)) called = at;
  return called == StackBook::kEmpty ? "" : function_text(book.functions()[book.function(called)]);
}

}  // namespace

std::string wait_text(const StackBook& book, const FoldedWait& wait, std::size_t width) {
  if (wait.word.empty() || wait.stack == StackBook::kEmpty)
    return stack_text(book, wait.stack, width);
  const std::uint32_t application = application_of(book, wait.stack);
  const std::string called = called_by(book, wait.stack, application);
  std::string text = function_text(book.functions()[book.function(application)]);
  if (!called.empty()) text += " → " + called;
  text += " (" + told_name(wait.word) + ")";
  const std::uint32_t caller = book.caller(application);
  if (caller == StackBook::kEmpty) return text;
  const std::size_t taken = display_width(text) + display_width(kCalledBy);
  if (width > 0 && taken >= width) return text;
  const std::string rest = stack_text(book, caller, width == 0 ? 0 : width - taken);
  const bool fits = width == 0 || taken + display_width(rest) <= width;
  return fits ? text + std::string(kCalledBy) + rest : text;
}

}  // namespace ctprof
