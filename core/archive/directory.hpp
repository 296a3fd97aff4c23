// A directory of recordings: finds the windows in it.
//
// `record --every` fills it with hourly files (index.hpp), each of consecutive windows, and an
// index. If the index lacks windows or contradicts the file sizes, they are found in the files
// themselves. Other files in the directory are ignored.
//
// The directory stays open, so that a rename cannot redirect readers or writers.
//
// See also: archive.hpp for adding and dropping windows, span.hpp for selecting and reading them.

#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/archive/index.hpp"
#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// An hourly file and the windows in it.
struct ArchiveFile {
  HourFile name;
  std::uint64_t size = 0;
  std::uint64_t complete_bytes = 0;  // bytes of complete windows from the start of the file
  bool is_truncated = false;         // an incomplete window follows
  std::string invalid_reason;        // why the data after them is not a window; empty: no such data
  std::vector<ArchivedWindow> windows;  // in file order
};

// An open directory of recordings.
class Directory {
 public:
  static Result<Directory> open(const std::string& path);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  // Selects by owner the files and the index that are used.
  enum class Owner : std::uint8_t { AnyUser, EffectiveUser };
  // Returns the files, sorted by name, with their windows. Reads those that the index lacks. Fails
  // if the directory cannot be read; a file that cannot be read has no windows, and contains the
  // reason. Owner::EffectiveUser selects files of the effective user without other links
  // (own_files.hpp), which a recorder needs because it drops files and appends to them.
  Result<std::vector<ArchiveFile>> files(Owner owner = Owner::AnyUser) const;
  // Returns whether the directory has any hourly file.
  Result<bool> has_files() const;
  // Returns a name that belongs neither to ctprof nor to the file system (lost+found); empty if
  // there is none.
  Result<std::string> foreign_name() const;

  // Reads the bytes of one window. The error names the file.
  Result<std::string> read(const HourFile& file, const ArchivedWindow& window) const;

 private:
  Directory(std::string path, sdk::Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Result<std::vector<std::string>> names() const;
  bool is_used(const std::string& name, Owner owner, struct stat& status) const;
  Result<std::string> read_bytes(const std::string& name, std::uint64_t offset,
                                 std::uint64_t max_bytes) const;
  void find_windows(ArchiveFile& file) const;

  std::string path_;
  sdk::Fd fd_;
};

// Returns whether the path is a directory with hourly files.
bool is_archive(const std::string& path);

}  // namespace ctprof
