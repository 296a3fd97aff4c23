// The destination of a file: a name in an open directory, which is resolved once and used later.
//
// The kernel follows all links of the path. Therefore a rename does not replace a file that the
// kernel refuses to open here (fs.protected_symlinks, fs.protected_regular, file permissions).
// Nothing is written to a pipe or device of another user, who could read it, nor through a link of
// another user: only those of this user and of root are accepted. Also accepted are descriptors of
// this process (/dev/fd/N), its own terminals, and devices that discard everything.
//
// An existing file is
// opened for writing, but not changed. The open directory ensures that the file cannot be
// redirected later: by renamed directories, by new links, or by a plugin that changes the working
// directory.
//
// Contents: names, links, and the file that exists at the destination.
//
// See also: out_file.hpp for the contents and the rename.

#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Suffix of file names that ctprof chooses itself.
inline constexpr std::string_view kFileSuffix = ".ctprof.zst";

class Destination {
 public:
  // The kind of file that is written.
  enum class Kind {
    StandardOutput,  // "-"
    File,            // a new regular file that gets the name
    Stream,          // a pipe or device, which is opened and written directly
  };

  // Resolves the destination. Only checks the permission of a pipe or device, because opening it
  // could block until there is a reader. The error is a message that names `path`. Threads: any,
  // one at a time.
  static Result<Destination> resolve(const std::string& path);

  Kind kind() const { return kind_; }
  // The path as the user wrote it, for messages.
  const std::string& path() const { return path_; }
  // For File: the directory (O_PATH), and the name in it. The name of a File is not a
  // link.
  int directory() const { return directory_.get(); }
  const std::string& name() const { return name_; }

  // For Stream: the pipe or device (O_PATH) that was checked.
  int stream() const { return stream_.get(); }

  // Resolves a new or existing regular file in an open directory. `path`: its path, for messages.
  // Refuses links, pipes and devices. Threads: as resolve().
  static Result<Destination> resolve_in(int directory, const std::string& name,
                                        const std::string& path);

  // Reserves a file descriptor, so that the file can be opened even if the process has used up all
  // others; and releases it.
  void reserve_descriptor() {
    reserved_descriptor_.reset(::fcntl(directory(), F_DUPFD_CLOEXEC, 0));
  }
  void release_reserved_descriptor() const { reserved_descriptor_.reset(); }

  // Permissions that a new file copies from the file that it replaces.
  struct Access {
    mode_t mode;  // permission bits
    gid_t group;
  };
  // Returns the permissions of the existing regular file, if it belongs to this user and has no
  // other link. Fails if the name belongs to something other than a regular file.
  Result<std::optional<Access>> access_of_replaced_file() const;

 private:
  Destination(std::string path, Kind kind) : path_(std::move(path)), kind_(kind) {}
  Result<void> open_directory(const std::string& path);
  Result<void> check_existing();
  Result<void> follow_link();
  Result<bool> check_links(const struct stat& target) const;
  Result<void> use_stream(sdk::Fd stream, bool is_inherited);
  Result<void> check_replaceable() const;
  Error write_error(int number) const { return errno_error("writing", path_, number); }

  std::string path_;
  Kind kind_;
  sdk::Fd directory_;
  std::string name_;
  sdk::Fd stream_;
  mutable sdk::Fd reserved_descriptor_;
};

}  // namespace ctprof
