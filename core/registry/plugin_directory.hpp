// Where plugins are: a directory of them, opened and listed, and the directory that is ctprof's
// own.
//
// Files are opened relative to the directory's descriptor, so that they are those of the directory
// that was checked. Under Trust::RootAlone only root may be able to change a file
// (the walk is described below), and the same holds for the directories that a plugin names for its
// libraries. Nothing is loaded here: that is the job of loader.hpp.
//
// The program's location comes from /proc/self/exe, never from argv or the working directory.
// Without /proc it is the name that the kernel was asked to run, unless the program has more
// privileges than its user.

#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/plugin_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// A path that only root can change, so that what was checked is what is used. It is walked from /
// down, each directory opened below the one before and never through a symbolic link. Each must
// belong to root, must not be writable by anybody else (a sticky directory such as /tmp counts as
// writable), and must not be on a filesystem mounted nosuid: every mount that a user can make is
// (FUSE by fusermount, removable media), and its contents are up to that user. What passes cannot
// change afterwards without root.
//
// An error is a sentence about the first directory that fails, "'/srv/ann' belongs to user 1000",
// or about the file: "it belongs to ...". The walk uses openat() rather than openat2() with
// RESOLVE_NO_SYMLINKS: every directory has to be opened for its check anyway, and this works on
// kernels and in sandboxes without openat2().
//
// Threads: any. Descriptors belong to the caller, and are closed on exec.

// Opens a directory for reading by its absolute path. A mount point on the way must itself pass.
Result<sdk::Fd> open_trusted_directory(const std::string& path);

// Opens a regular file, read-only, in an open directory.
Result<sdk::Fd> open_trusted_file(int directory, const std::string& name);

enum class Trust {
  Anybody,    // the user may choose what is loaded
  RootAlone,  // the process has more privileges than its user, so the user must not choose
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
  // Whether only root can change the file and the directories that it names, even if the file is no
  // sound plugin. The error begins with "it". REQUIRES: Trust::RootAlone.
  Result<void> check_trust(const std::string& name) const;

 private:
  Result<sdk::Fd> open_descriptor(const std::string& name) const;
  Error refusal(const Error& why) const;
  PluginDirectory(std::string path, Trust trust, sdk::Fd fd, std::vector<std::string> names)
      : path_(std::move(path)), trust_(trust), fd_(std::move(fd)), names_(std::move(names)) {}

  std::string path_;
  Trust trust_;
  sdk::Fd fd_;
  std::vector<std::string> names_;
};

// The directory of the running program, or "" if no trustworthy source gives it.
std::string program_directory();

// The directory of ctprof's own plugins: that of the build tree if the program runs from one, else
// the installed one. "" if the program's location is unknown.
std::string own_plugin_directory();

}  // namespace ctprof
