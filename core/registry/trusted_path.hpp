// Directories and files that nobody but root can change, opened so that what was checked is what is
// used.
//
// A path is walked from / down, one directory at a time, each opened below the one before and never
// through a symbolic link. Each must belong to root, be writable by nobody else (a sticky directory
// such as /tmp is writable by others), and not lie on a filesystem that is mounted nosuid: every
// mount that a user can make by himself is (FUSE by fusermount, removable media), and he may answer
// there what he likes. What passes stays as it is: to change it takes root.
//
// An error is a sentence about the first directory that fails, "'/srv/ann' belongs to user 1000",
// or about the file: "it belongs to ...". Step by step by openat() rather than openat2() with
// RESOLVE_NO_SYMLINKS: every directory is opened to be checked anyway, and this works on kernels
// and in sandboxes without openat2().
//
// What is here:   opening, on any thread; descriptors belong to the caller, and are closed on exec.
// What is not:    when this is asked for (loader.hpp).

#pragma once

#include <string>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// A directory by its absolute path, readable. Mounts on the way are fine where what is mounted
// passes.
Result<sdk::Fd> open_trusted_directory(const std::string& path);

// A regular file in a directory that is open already.
Result<sdk::Fd> open_trusted_file(int directory, const std::string& name);

}  // namespace ctprof
