// Where everything that is printed goes.
//
// Plugins share the process, and may print too. So standard output is moved before any is loaded:
// ctprof keeps it under a number of its own, and what plugins write to number 1, or leave in
// stdio's buffers until the end, goes to standard error.

#pragma once

#include <string>
#include <string_view>

namespace ctprof::cli {

// Moves standard output away. Descriptors 0 to 2 that are closed lead to /dev/null afterwards, so
// that no file of ours gets one of their numbers. REQUIRES: first of all, and once.
void keep_output();

// Standard output's descriptor, for our own use; -1 where it was closed.
int output_fd();

// Whether the path is another name of standard output, such as /dev/stdout, which would lead to
// number 1.
bool names_output(std::string_view path);

// Writes all of it; 0, or the error's number.
int write_all(int fd, std::string_view text);

}  // namespace ctprof::cli
