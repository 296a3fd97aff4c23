// A directory of recordings: which windows are in it.
//
// `record --every` fills it: files of an hour (index.hpp), each of windows one behind the other,
// and an index. What the index does not tell, or tells otherwise than the files' sizes do, is taken
// out of the files themselves. Other files in the directory mean nothing.
//
// The directory stays open, so that nobody who renames it sends anybody elsewhere.
//
// Not here: adding and dropping (archive.hpp), choosing and reading windows (span.hpp).

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

struct KeptFile {
  HourFile name;
  std::uint64_t size = 0;
  std::uint64_t whole = 0;          // bytes of windows that are whole, from the first on
  bool torn = false;                // goes on with the beginning of one
  std::string unread;               // or with what is none: why
  std::vector<KeptWindow> windows;  // in the order of the file
};

class Directory {
 public:
  static Result<Directory> open(const std::string& path);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  // Whose files and index count.
  enum class Of : std::uint8_t { Anybody, User };
  // Files by name, with their windows. Reads what the index lacks. Fails where the directory cannot
  // be read; a file that cannot be has no window, and says why. Of::User: files of the effective
  // user that have no other link (own_files.hpp), as a recorder needs that drops or adds to them.
  Result<std::vector<KeptFile>> files(Of of = Of::Anybody) const;
  // Whether it has such a file at all.
  Result<bool> has_files() const;
  // Names that are neither ours nor of a file system's own, at most one; empty: none.
  Result<std::string> stranger() const;

  // The bytes of one window. The error names the file.
  Result<std::string> read(const HourFile& file, const KeptWindow& window) const;

 private:
  Directory(std::string path, sdk::Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Result<std::vector<std::string>> names() const;
  bool counts(const std::string& name, Of of, struct stat& status) const;
  Result<std::string> bytes_of(const std::string& name, std::uint64_t at, std::uint64_t most) const;
  void look_into(KeptFile& file) const;

  std::string path_;
  sdk::Fd fd_;
};

// Whether it is a directory with files of that kind.
bool is_archive(const std::string& path);

}  // namespace ctprof
