// Reads an ELF file that may be hostile: its header, segments, sections and bytes.
//
// All reads use pread(2): if another process truncates the file, a read fails, whereas access to a
// mapping of it would raise SIGBUS. Sizes in the file are not trusted: each table has its own
// limit, and all bytes that are read are charged to one budget. When the budget is spent, reads
// fail as if the file were truncated.
//
// Contents:  64-bit little-endian files, from a descriptor or from memory (the vDSO).
// See also:  cfi.hpp (call frame information), symbols.hpp (symbols).

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

// An address as linked, before the loader adds the load address of the file.
using FileAddress = std::uint64_t;

class GoTable;

class ElfFile {
 public:
  // Does not own the descriptor, which must outlive this object.
  explicit ElfFile(int fd);
  // Reads bytes in memory, which must outlive this object.
  explicit ElfFile(std::string_view image);

  // False if the file is not ELF, has another class or byte order, or has a broken header; then all
  // other functions return nothing.
  bool is_valid() const { return valid_; }
  // Returns whether the file is invalid because it is a 32-bit ELF file.
  bool is_32_bit() const { return is_32_bit_; }
  // Returns the descriptor, which this object does not own; -1 if it reads memory.
  int fd() const { return fd_; }
  std::uint64_t size() const { return size_; }
  std::uint16_t machine() const { return header_.e_machine; }
  std::uint16_t type() const { return header_.e_type; }
  // Returns the entry point of a program; 0 if there is none.
  FileAddress entry() const { return header_.e_entry; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  // Returns the first segment of this type, or null.
  const Elf64_Phdr* segment(std::uint32_t type) const;
  // Reads the sections, in file order, at each call; empty if they are missing or broken.
  std::vector<Elf64_Shdr> sections() const;
  // Returns the first section of this name.
  std::optional<Elf64_Shdr> section(std::string_view name) const;

  // Returns the bytes of NT_GNU_BUILD_ID; empty if the file has none.
  std::string build_id() const;

  // Returns the difference between addresses and file offsets in the first code segment; 0 if there
  // is none.
  FileAddress code_address_bias() const;
  // Returns the address of a byte of a code segment; nothing if no code segment contains it.
  std::optional<FileAddress> code_address(std::uint64_t offset) const;
  // The file offset of the byte that is loaded at an address, and the number of bytes that are
  // stored from there to the end of its segment.
  struct StoredBytes {
    std::uint64_t offset;
    std::uint64_t size;
  };
  std::optional<StoredBytes> find_stored_bytes(FileAddress address) const;

  // The table of a Go program, while a user of it exists: get_shared_go_table() stores it here.
  std::weak_ptr<const GoTable>& go_table() const { return go_table_; }

  bool read(std::uint64_t offset, void* buffer, std::size_t size) const;
  // Returns up to `size` bytes, at most `limit`, as far as the file has them; empty if the read
  // fails.
  std::string read_bytes(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) const;
  // Returns the NUL-terminated text at `offset`, truncated at `limit`.
  std::string read_text(std::uint64_t offset, std::size_t limit) const;
  // Returns up to `count` items, at most `limit`, as far as the file has them.
  template <class T>
  std::vector<T> read_table(std::uint64_t offset, std::uint64_t count, std::uint64_t limit) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> items(count_available(offset, count < limit ? count : limit, sizeof(T)));
    if (!items.empty() && !read(offset, items.data(), items.size() * sizeof(T))) items.clear();
    return items;
  }

 private:
  void read_header();
  std::string build_id_in_sections() const;
  bool charge(std::uint64_t bytes) const;
  std::size_t count_available(std::uint64_t offset, std::uint64_t count, std::size_t size) const;

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
