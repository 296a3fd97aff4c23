// An ELF shared object of this machine, read piece by piece: its headers, checked, and bytes by
// offset or by address.
//
// Nothing is mapped, so a file that shrinks meanwhile is an error and no signal. Every place is
// checked against the file's size, and addresses against what the file fills of the segments that
// will be mapped.
//
// What is here:   headers and bytes.
// What is not:    the dynamic section (plugin_file.hpp).

#pragma once

#include <link.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

class ElfImage {
 public:
  // The descriptor stays the caller's, and open as long as this is used.
  ElfImage(int fd, std::uint64_t size) : fd_(fd), size_(size) {}

  // Reads and checks the headers; before anything else. The error is a reason without the file's
  // name: "it is cut short: ...".
  Result<void> read_headers();

  // The segment of the dynamic section; null where there is none.
  const ElfW(Phdr) * dynamic() const;

  // Where in the file the bytes of an address are; nothing where not all of them are of one segment
  // and in the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t address, std::uint64_t size) const;

  // Whether all of it is in the file.
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

// Whether `size` bytes from `from` on are among `all`, whatever the numbers.
inline bool lies_within(std::uint64_t from, std::uint64_t size, std::uint64_t all) {
  return from <= all && size <= all - from;
}

}  // namespace ctprof
