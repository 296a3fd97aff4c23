// Reads the bytes of files, up to the largest size that a file of captures may have.

#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ctprof {

// Appends the bytes of the file; "-" is standard input. Stops at the first bytes if they cannot
// begin a file of captures. Errors name the file. Throws bad_alloc.
Result<void> read_bytes(const std::string& path, std::string& bytes);
// The same for a regular file and nothing else.
Result<void> read_regular_bytes(const std::string& path, std::string& bytes);

// Returns why the bytes cannot begin a file of captures; empty if they can. Checks only the first
// bytes.
std::string find_format_error(std::string_view bytes);

}  // namespace ctprof
