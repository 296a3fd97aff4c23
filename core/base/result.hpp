// The return type of core functions: a value, or an Error that stops the operation.
//
// An Error contains the action, the object and the cause: "reading 'a.ctprof.zst': Permission
// denied". It is for users. A Gap (ctprof/gap.hpp) explains an empty cell.

#pragma once

#include <boost/system/result.hpp>
#include <cstring>
#include <string>
#include <utility>

namespace ctprof {

struct Error {
  std::string text;
};

// Required by boost::system::result; calling value() on an error is a bug in ctprof, and throws.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
  throw std::logic_error("unchecked error: " + error.text);
}

template <class T>
using Result = boost::system::result<T, Error>;

// Returns "<action> '<object>': <cause>".
inline Error error(std::string_view action, std::string_view object, std::string_view cause) {
  return {std::string(action) + " '" + std::string(object) + "': " + std::string(cause)};
}
inline Error errno_error(std::string_view action, std::string_view object, int number) {
  return error(action, object, std::strerror(number));
}

}  // namespace ctprof

// Returns from the function if an operation fails: with the error of the Result that the expression
// has. The function returns a Result or an Error.
//
//   CTPROF_TRY(check_name(name));
//   CTPROF_TRY_VALUE(const Snapshot window, load_file(path, vocabulary));  // declares `window`
//
// CTPROF_TRY_VALUE is several statements: enclose it in braces after `if` and `for`.
#define CTPROF_TRY(...)                                                                   \
  do {                                                                                    \
    if (auto ctprof_result = (__VA_ARGS__); !ctprof_result) return ctprof_result.error(); \
  } while (false)
#define CTPROF_TRY_VALUE(declaration, ...) \
  CTPROF_TRY_VALUE_AS(CTPROF_RESULT_OF_LINE(__LINE__), declaration, __VA_ARGS__)
#define CTPROF_TRY_VALUE_AS(result, declaration, ...) \
  auto result = (__VA_ARGS__);                        \
  if (!result) return result.error();                 \
  declaration = *std::move(result)
#define CTPROF_RESULT_OF_LINE(line) CTPROF_JOIN_TOKENS(ctprof_result_, line)
#define CTPROF_JOIN_TOKENS(a, b) a##b
