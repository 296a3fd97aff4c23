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
