// Tests whether only the user of this process controls a file. Recordings of root must not be added
// to a file, or below a directory, that another user owns, links to or may write.
//
// Threads: any.

#pragma once

#include <sys/stat.h>

#include <string>

namespace ctprof {

// Returns whether it is a regular file of the effective user with one link.
bool is_own_file(const struct stat& file);

// Returns why a directory, or the last link that leads to it, is not under the control of the
// effective user: "it belongs to user 1000; name a directory of your own". Empty: only that user
// and root can replace or remove the user's files in it. Others may add their own files if it has
// the sticky bit.
std::string directory_ownership_problem(const std::string& path, int directory);

}  // namespace ctprof
