// An ELF file that may be hostile: its header, its segments, its sections, bytes of it.
//
// Everything is read with pread(2): a file that is cut short meanwhile makes a read fail, where a
// mapping of it would raise SIGBUS. No size that the file claims is believed: each table has a
// limit of its own, and all that is read is charged to one budget. When that is spent, reading
// fails as if the file were cut short.
//
// What is here:   64-bit little-endian files, of a descriptor or of memory (the vDSO).
// What is not:    what the bytes mean: call frames (cfi.hpp), symbols (symbols.hpp).

#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ctprof {

// An address in a file's own count: as linked, before a loader adds where it put the file.
using FileAddress = std::uint64_t;

class GoTable;

class ElfFile {
 public:
  // Does not own the descriptor, which outlives it.
  explicit ElfFile(int fd);
  // Of bytes in memory, which outlive it.
  explicit ElfFile(std::string_view image);

  // False: not ELF, of another class or byte order, or broken at its head; then it has nothing.
  bool is_valid() const { return valid_; }
  // Whether it is not valid because it is an ELF file of 32 bits.
  bool is_32_bit() const { return is_32_bit_; }
  // Of the file it reads, which it does not own; -1: it reads memory.
  int fd() const { return fd_; }
  std::uint64_t size() const { return size_; }
  std::uint16_t machine() const { return header_.e_machine; }
  std::uint16_t type() const { return header_.e_type; }
  // Where a program begins; 0: nowhere.
  FileAddress entry() const { return header_.e_entry; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  // The first such segment, or null.
  const Elf64_Phdr* segment(std::uint32_t type) const;
  // In the order of the file; empty where there are none, or broken ones. Read at each call.
  std::vector<Elf64_Shdr> sections() const;
  // The first one of that name.
  std::optional<Elf64_Shdr> section(std::string_view name) const;

  // The bytes of NT_GNU_BUILD_ID; empty where there is none.
  std::string build_id() const;

  // What leads from a place in the first code segment to its address; 0 where there is none.
  FileAddress code_shift() const;
  // Where a byte of a code segment is loaded. Nothing where it belongs to none.
  std::optional<FileAddress> code_address(std::uint64_t offset) const;
  // Where the byte that is loaded at an address stands in the file, and how many follow it there.
  struct Place {
    std::uint64_t offset;
    std::uint64_t size;
  };
  std::optional<Place> place_of(FileAddress address) const;

  // The table of a Go program, as long as somebody has it: shared_go_table() keeps it here.
  std::weak_ptr<const GoTable>& go_table() const { return go_table_; }

  bool read(std::uint64_t offset, void* to, std::size_t size) const;
  // As many of `size` bytes as the file holds, at most `limit`; empty where they cannot be read.
  std::string bytes(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) const;
  // The text that begins there and ends with a NUL, cut at `limit`.
  std::string text(std::uint64_t offset, std::size_t limit) const;
  // As many of `count` items as the file holds, at most `limit`.
  template <class T>
  std::vector<T> table(std::uint64_t offset, std::uint64_t count, std::uint64_t limit) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> items(fitting(offset, count < limit ? count : limit, sizeof(T)));
    if (!items.empty() && !read(offset, items.data(), items.size() * sizeof(T))) items.clear();
    return items;
  }

 private:
  void read_head();
  std::string build_id_in_sections() const;
  bool charge(std::uint64_t bytes) const;
  std::size_t fitting(std::uint64_t offset, std::uint64_t count, std::size_t size) const;

  int fd_ = -1;
  std::string_view image_;
  std::uint64_t size_ = 0;
  mutable std::uint64_t budget_;
  bool valid_ = false;
  bool is_32_bit_ = false;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  mutable std::weak_ptr<const GoTable> go_table_;
};

}  // namespace ctprof
