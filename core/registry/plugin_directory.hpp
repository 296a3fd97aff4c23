// Directories of plugins: opens and lists a directory, and finds the directory of ctprof's own
// plugins.
//
// Files are opened relative to the directory's descriptor, so that they belong to the directory
// that was checked. With Trust::RootOnly, only root may be able to change a file (the check is
// described below), and the same holds for the directories in which a plugin searches its
// libraries. loader.hpp loads the files.
//
// The program's location comes from /proc/self/exe, never from argv or the working directory.
// Without /proc it is the name that was passed to execve, unless the program has more privileges
// than its user.

#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/plugin_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Functions for paths that only root can change, so that the file that was checked is the file that
// is used. A path is walked from / down; each directory is opened relative to the previous one and
// never through a symbolic link. Each directory must belong to root, must not be writable by others
// (a sticky directory such as /tmp counts as writable), and must not be on a filesystem that is
// mounted nosuid. All mounts that a user can make are nosuid (FUSE by fusermount, removable media),
// and that user controls their contents. Only root can change a path after it passed.
//
// An error is a sentence about the first directory that fails, "'/srv/ann' belongs to user 1000",
// or about the file: "it belongs to ...". The walk uses openat() instead of openat2() with
// RESOLVE_NO_SYMLINKS: each directory must be opened for its check anyway, and openat() works on
// kernels and in sandboxes without openat2().
//
// Any thread may call these functions. The caller owns the descriptors, which are closed on exec.

// Opens a directory for reading by its absolute path. Mount points on the path are checked in the
// same way.
Result<sdk::Fd> open_trusted_directory(const std::string& path);

// Opens a regular file, read-only, in an open directory.
Result<sdk::Fd> open_trusted_file(int directory, const std::string& name);

enum class Trust {
  AnyUser,   // the user may choose what is loaded
  RootOnly,  // the process has more privileges than its user, who must not choose what is loaded
};

struct OpenPlugin {
  std::string path;
  sdk::Fd fd;
  PluginFile file;
};

class PluginDirectory {
 public:
  // Opens and lists a directory. The error names the path and the cause.
  static Result<PluginDirectory> open(const std::string& path, Trust trust);

  // File names that end in .so, in order.
  const std::vector<std::string>& names() const { return names_; }
  // The path of a file in names().
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  // Opens a file and inspects it (plugin_file.hpp); does not block on a FIFO. The error does not
  // name the file.
  Result<OpenPlugin> open_file(const std::string& name) const;
  // Checks that only root can change the file and the directories that it names, even if the file
  // is not a valid plugin. The error begins with "it". REQUIRES: Trust::RootOnly.
  Result<void> check_trust(const std::string& name) const;

 private:
  Result<sdk::Fd> open_plugin_descriptor(const std::string& name) const;
  Error make_refusal(const Error& cause) const;
  PluginDirectory(std::string path, Trust trust, sdk::Fd fd, std::vector<std::string> names)
      : path_(std::move(path)), trust_(trust), fd_(std::move(fd)), names_(std::move(names)) {}

  std::string path_;
  Trust trust_;
  sdk::Fd fd_;
  std::vector<std::string> names_;
};

// Returns the directory of the running program, or "" if no trustworthy source provides it.
std::string program_directory();

// Returns the directory of ctprof's own plugins: in the build tree if the program runs from one,
// else the installed directory. "" if the program's location is unknown.
std::string own_plugin_directory();

}  // namespace ctprof
