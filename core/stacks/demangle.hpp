// Names of C++ and Rust functions as people write them.

#pragma once

#include <string>
#include <string_view>

namespace ctprof {

// `ctprof::Walk::run` for a mangled name, without parameters, as perf writes it; Rust's with or
// without a hash, v0 included. Anything else comes back as it is: a name that is not mangled, is
// broken, has more than 1,000 characters, or would become longer than 4,096, which a hostile one of
// a hundred characters can. So does everything in a build without libiberty.
std::string demangled(std::string_view name);

}  // namespace ctprof
