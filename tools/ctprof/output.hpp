// Where everything that ctprof prints goes.
//
// Plugins share the process, and may print too. So standard output is moved before any plugin is
// loaded: ctprof keeps it under another descriptor, and what plugins write to descriptor 1, or
// leave in stdio's buffers, goes to standard error.

#pragma once

#include <string>
#include <string_view>

namespace ctprof::cli {

// Moves standard output. Opens /dev/null on those of descriptors 0 to 2 that are closed, so that no
// file of ours gets their numbers. REQUIRES: called once, before anything else.
void keep_output();

// The descriptor of standard output, or -1 if it was closed.
int output_fd();

// Whether `path` is a name of standard output, such as "-" or /dev/stdout.
bool names_output(std::string_view path);

// Writes all of `text`. Returns 0, or errno.
int write_all(int fd, std::string_view text);

}  // namespace ctprof::cli
