// Where a file will go: a name in a directory that is held open, found once and used later.
//
// The kernel follows all links, so that what it refuses to open here (fs.protected_symlinks,
// fs.protected_regular, file permissions) is not replaced by a rename either. A file that is there
// is opened for writing, and not changed. Because the directory stays open, nobody who renames a
// directory or plants a link afterwards sends the file elsewhere, nor does a plugin that changes
// the working directory.
//
// What is here:   names, links, what stands at the place now.
// What is not:    the contents and the rename (out_file.hpp).

#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// How the names of files end that ctprof chooses itself.
inline constexpr std::string_view kFileSuffix = ".ctprof.zst";

class Destination {
 public:
  // What is written, and how.
  enum class Kind {
    StandardOutput,  // "-"
    File,            // a new regular file takes the name
    Stream,          // a pipe or device: opened and written as it is
  };

  // Finds the place. A pipe or device is only asked whether it may be written: opening it could
  // wait for a reader. The error is a sentence that names `path`. The owner may use it in any
  // thread, one at a time.
  static Result<Destination> at(const std::string& path);

  Kind kind() const { return kind_; }
  // As the user wrote it; for sentences.
  const std::string& path() const { return path_; }
  // Of File and Stream: the directory (O_PATH), and the name in it. The name of a File is no link.
  int directory() const { return directory_.get(); }
  const std::string& name() const { return name_; }

  // Keeps one descriptor, so that there is one for the file when others have used up all of them;
  // and gives it up.
  void reserve_descriptor() { reserve_.reset(::fcntl(directory(), F_DUPFD_CLOEXEC, 0)); }
  void use_reserve() const { reserve_.reset(); }

  // What a new file takes over from the one that it replaces.
  struct Access {
    mode_t mode;  // permission bits
    gid_t group;
  };
  // Of the regular file that stands there now, if it is ours and has no other link. Fails if what
  // stands there is no regular file.
  Result<std::optional<Access>> replaced_access() const;

 private:
  Destination(std::string path, Kind kind) : path_(std::move(path)), kind_(kind) {}
  Result<void> open_directory(const std::string& path);
  Result<void> look();
  Result<void> follow_link();
  Result<void> stream();
  Result<void> may_replace() const;
  Error failed(int number) const { return errno_error("writing", path_, number); }

  std::string path_;
  Kind kind_;
  sdk::Fd directory_;
  std::string name_;
  mutable sdk::Fd reserve_;
};

}  // namespace ctprof
