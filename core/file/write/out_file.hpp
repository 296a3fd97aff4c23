// A file under construction, which takes its name only when it is whole. A regular file is written
// without a name (O_TMPFILE) and gets its own by `commit`; on a file system that cannot do that,
// under a temporary name in the same directory. Without `commit` nothing is left of it, and the
// file that was there stays; a signal that ends the program leaves nothing either. Devices, pipes
// and "-" (standard output) are written as they are.
//
// A new file is for its owner alone (0600): it holds command lines. Permissions are kept from one
// that it replaces, if that is ours and has no other link.
//
// While a temporary file has a name, every signal that would end the program, but can be caught,
// first removes the file, and then ends the program with the status that this signal gives. Signals
// that are ignored or handled already stay so. Crashes (SIGSEGV and its kin) are the program's to
// handle: its handler calls remove_doomed_files().

#pragma once

#include <unistd.h>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/file/write/destination.hpp"

namespace ctprof {

// Removes every such file that is there now. For handlers of signals that end the program: nothing
// in it is unsafe there.
void remove_doomed_files();

class DoomedFile {
 public:
  // `directory` stays open as long as the object lives. The name may be without a file yet.
  // REQUIRES: at most kLongestName bytes.
  DoomedFile(int directory, const std::string& name);
  DoomedFile(const DoomedFile&) = delete;
  DoomedFile& operator=(const DoomedFile&) = delete;
  ~DoomedFile();

  const std::string& name() const { return name_; }
  // The name is not ours, or not ours any more: nothing is removed.
  void release();

  static constexpr std::size_t kLongestName = 63;

 private:
  int directory_;
  std::string name_;  // empty: released
  int slot_;          // -1: not guarded
};

class OutFile {
 public:
  // `place` outlives the file. `standard_output` is what "-" stands for; it stays open.
  static Result<OutFile> create(const Destination& place, int standard_output = STDOUT_FILENO);
  // Whether it could be created now; nothing is left behind.
  static Result<void> check(const Destination& place);
  OutFile(OutFile&& other) noexcept = default;
  OutFile& operator=(OutFile&&) = delete;

  Result<void> write(std::string_view bytes);
  // For another process that writes the file in our place; then, how much of it there is now.
  int descriptor() const { return fd_.get(); }
  void count_bytes();
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
