// A file under construction, which takes its name only when it is whole. A regular file is written
// without a name (O_TMPFILE) and gets its own by `commit`; on a file system that cannot do that,
// under a temporary name in the same directory. Without `commit` nothing is left of it, and the
// file that was there stays; a signal that ends the program leaves nothing either. Devices, pipes
// and "-" (standard output) are written as they are.
//
// A new file is for its owner alone (0600): it holds command lines. Permissions are kept from one
// that it replaces, if that is ours and has no other link.

#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/file/write/destination.hpp"
#include "core/file/write/doomed_file.hpp"

namespace ctprof {

class OutFile {
 public:
  // `place` outlives the file. `standard_output` is what "-" stands for; it stays open.
  static Result<OutFile> create(const Destination& place, int standard_output = STDOUT_FILENO);
  // Whether it could be created now; nothing is left behind.
  static Result<void> check(const Destination& place);
  OutFile(OutFile&& other) noexcept = default;
  OutFile& operator=(OutFile&&) = delete;

  Result<void> write(std::string_view bytes);
  // Gives the file its name, after it has reached the disk if `sync` says so.
  Result<void> commit(bool sync);
  std::uint64_t bytes() const { return bytes_; }
  // How long `commit` waited for the disk.
  std::uint64_t sync_ns() const { return sync_ns_; }
  const std::string& path() const { return place_->path(); }

 private:
  OutFile(const Destination& place, int fd) : place_(&place), fd_(fd) {}
  static Result<OutFile> create_stream(const Destination& place, int standard_output);
  Result<void> create_nameless();
  Result<void> create_named();
  Result<void> keep_access();
  Result<void> take_temporary_name();
  Result<void> take_name();
  Error failed(int number) const { return errno_error("writing", path(), number); }

  const Destination* place_;
  sdk::Fd fd_;
  bool is_stream_ = false;
  std::unique_ptr<DoomedFile>
      temporary_;  // its name in the directory; null: it has none, or its own
  std::uint64_t bytes_ = 0;
  std::uint64_t sync_ns_ = 0;
};

}  // namespace ctprof
