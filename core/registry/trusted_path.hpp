// Opens directories and files that only root can change, so that what was checked is what is used.
//
// A path is walked from / down, each directory opened below the one before and never through a
// symbolic link. Each must belong to root, must not be writable by anybody else (a sticky directory
// such as /tmp counts as writable), and must not be on a filesystem mounted nosuid: every mount
// that a user can make is (FUSE by fusermount, removable media), and its contents are up to that
// user. What passes cannot change afterwards without root.
//
// An error is a sentence about the first directory that fails, "'/srv/ann' belongs to user 1000",
// or about the file: "it belongs to ...". The walk uses openat() rather than openat2() with
// RESOLVE_NO_SYMLINKS: every directory has to be opened for its check anyway, and this works on
// kernels and in sandboxes without openat2().
//
// Threads: any. Descriptors belong to the caller, and are closed on exec.

#pragma once

#include <string>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Opens a directory for reading by its absolute path. A mount point on the way must itself pass.
Result<sdk::Fd> open_trusted_directory(const std::string& path);

// Opens a regular file, read-only, in an open directory.
Result<sdk::Fd> open_trusted_file(int directory, const std::string& name);

}  // namespace ctprof
