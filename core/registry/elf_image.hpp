// Reads an ELF shared object of this machine: its program headers, checked, and bytes by file
// offset or by address.
//
// Nothing is mapped, so that a file which shrinks meanwhile gives an error rather than SIGBUS.
// Every offset is checked against the file's size, and every address against the segments' bytes in
// the file. The dynamic section is the job of plugin_file.hpp.

#pragma once

#include <link.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

class ElfImage {
 public:
  // Does not take ownership of `fd`, which must stay open as long as this object is used.
  ElfImage(int fd, std::uint64_t size) : fd_(fd), size_(size) {}

  // Reads and checks the headers. The error does not name the file: "it is cut short: ...".
  // REQUIRES: called before anything else.
  Result<void> read_headers();

  // The segment that holds the dynamic section, or null.
  const ElfW(Phdr) * dynamic() const;

  // The file offset of `size` bytes at `address`; nullopt unless one segment holds them all in the
  // file.
  std::optional<std::uint64_t> offset_of(std::uint64_t address, std::uint64_t size) const;

  // Copies `size` bytes to `to`; false if the file does not hold them all.
  bool bytes(std::uint64_t offset, void* to, std::size_t size) const;
  template <class T>
  bool at_offset(std::uint64_t offset, T& item) const {
    return bytes(offset, &item, sizeof item);
  }
  template <class T>
  bool at_address(std::uint64_t address, T& item) const {
    const auto offset = offset_of(address, sizeof item);
    return offset && at_offset(*offset, item);
  }

 private:
  Result<void> check_kind(const ElfW(Ehdr) & header) const;
  Result<void> check_segments() const;

  int fd_;
  std::uint64_t size_;
  std::vector<ElfW(Phdr)> segments_;
};

// Whether [from, from + size) is within [0, all), without overflow.
inline bool lies_within(std::uint64_t from, std::uint64_t size, std::uint64_t all) {
  return from <= all && size <= all - from;
}

}  // namespace ctprof
