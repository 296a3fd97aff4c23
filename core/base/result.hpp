// What core functions return: a value, or an Error that stops the operation.
//
// An Error names the deed, the object and the cause: "reading 'a.ctprof.zst': Permission denied".
// It is for people; whether an empty cell has a reason is a Gap's business (ctprof/gap.hpp), not an
// Error's.

#pragma once

#include <boost/system/result.hpp>
#include <cstring>
#include <string>
#include <utility>

namespace ctprof {

struct Error {
  std::string text;
};

// boost::system::result asks for this; value() on an error is a fault of ours and throws.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
  throw std::logic_error("unchecked error: " + error.text);
}

template <class T>
using Result = boost::system::result<T, Error>;

// "<deed> '<object>': <cause>"
inline Error error(std::string_view deed, std::string_view object, std::string_view cause) {
  return {std::string(deed) + " '" + std::string(object) + "': " + std::string(cause)};
}
inline Error errno_error(std::string_view deed, std::string_view object, int number) {
  return error(deed, object, std::strerror(number));
}

}  // namespace ctprof
