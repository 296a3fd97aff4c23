// Whether only the user of this process decides what becomes of a file: what is recorded as root
// must not be added to a file, or below a directory, that somebody else owns, links to or writes.
//
// Threads: any.

#pragma once

#include <sys/stat.h>

#include <string>

namespace ctprof {

// Whether it is a regular file of the effective user that has no other link.
bool is_own_file(const struct stat& file);

// Why a directory, or the last link that leads to it, is not the effective user's own: "it belongs
// to user 1000; name a directory of your own". Empty: only that user and root can replace or remove
// files of that user in it. Others may add files of their own where it has the sticky bit.
std::string why_not_own_directory(const std::string& path, int directory);

}  // namespace ctprof
