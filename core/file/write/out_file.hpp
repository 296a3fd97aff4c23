// Writes a file that gets its name only when it is complete. A regular file is created without a
// name (O_TMPFILE), or under a temporary name in the same directory if the file system does not
// support that. `commit` gives it its own name. Without `commit`, the new file is removed and an
// existing file stays; the same holds for a signal that ends the program. Devices, pipes and "-"
// (standard output) are written directly.
//
// Only the owner can access a new file (0600), because it contains command lines. If it replaces a
// file that belongs to this user and has no other link, it takes over its permissions.
//
// While a temporary file has a name, a handler is installed for every signal that would end the
// program and can be caught. It removes the file, and then ends the program with the status of this
// signal. Signals that are ignored or already handled are not changed. Handlers for crashes
// (SIGSEGV and similar) belong to the program; they call remove_temporary_files().

#pragma once

#include <unistd.h>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/file/write/destination.hpp"

namespace ctprof {

// Removes all temporary files that exist now. Async-signal-safe, for handlers of signals that end
// the program.
void remove_temporary_files();

// A temporary file name. The file is removed when the object is destroyed, and by the signal
// handler.
class TemporaryFile {
 public:
  // REQUIRES: `directory` stays open as long as the object exists; the name has at most
  // kMaxNameBytes bytes. The file may not exist yet.
  TemporaryFile(int directory, const std::string& name);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  const std::string& name() const { return name_; }
  // Gives up the name: the file is not removed.
  void release();

  static constexpr std::size_t kMaxNameBytes = 63;

 private:
  int directory_;
  std::string name_;  // empty: released
  int slot_;          // -1: no slot, so the signal handler does not remove the file
};

// A file that is being written.
class OutFile {
 public:
  // Creates the file. REQUIRES: `destination` outlives it. `standard_output` is used for "-"; it
  // stays open.
  static Result<OutFile> create(const Destination& destination,
                                int standard_output = STDOUT_FILENO);
  // Checks whether the file could be created now, and leaves nothing behind.
  static Result<void> check(const Destination& destination);
  OutFile(OutFile&& other) noexcept = default;
  OutFile& operator=(OutFile&&) = delete;

  Result<void> write(std::string_view bytes);
  // The descriptor, for another process that writes the file. read_size() then reads the file's
  // size.
  int descriptor() const { return fd_.get(); }
  void read_size();
  // Gives the file its name. With `sync`, first waits until its contents are on disk.
  Result<void> commit(bool sync);
  std::uint64_t bytes() const { return bytes_; }
  // Returns how long `commit` waited for the disk.
  std::uint64_t sync_ns() const { return sync_ns_; }
  const std::string& path() const { return destination_->path(); }

 private:
  OutFile(const Destination& destination, int fd) : destination_(&destination), fd_(fd) {}
  static Result<OutFile> create_stream(const Destination& destination, int standard_output);
  Result<void> create_unnamed();
  Result<void> create_named();
  Result<void> copy_access();
  Result<void> link_temporary_name();
  Result<void> rename_to_destination();
  Error write_error(int number) const { return errno_error("writing", path(), number); }

  const Destination* destination_;
  sdk::Fd fd_;
  bool is_stream_ = false;
  std::unique_ptr<TemporaryFile> temporary_;  // temporary name; null: no name, or its final one
  std::uint64_t bytes_ = 0;
  std::uint64_t sync_ns_ = 0;
};

}  // namespace ctprof
