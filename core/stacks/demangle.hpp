// Demangles names of C++ and Rust functions.

#pragma once

#include <string>
#include <string_view>

namespace ctprof {

// Returns whether the name begins like those that C++ and Rust compilers mangle.
constexpr bool is_mangled(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R");
}

// Returns for example `ctprof::Walk::run` for a mangled name, without parameters, in the style of
// perf. It supports Rust names with or without a hash, including v0. It returns any other name
// unchanged: one that is not mangled, is broken or longer than 1,000 characters, or whose result
// would exceed 4,096 characters, which a hostile name of a hundred characters can cause. A build
// without libiberty returns every name unchanged.
std::string demangle(std::string_view name);

}  // namespace ctprof
