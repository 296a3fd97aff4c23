// Reads an ELF file that may be hostile: its header, segments, sections and bytes.
//
// All reads use pread(2): if another process truncates the file, a read fails, whereas access to a
// mapping of it would raise SIGBUS. Sizes in the file are not trusted: each table has its own
// limit, and all bytes that are read are charged to one budget. When the budget is spent, reads
// fail as if the file were truncated.
//
// Contents:  64-bit files in the byte order of this machine, from a descriptor or from memory (the
//            vDSO).
// Threads:   one at a time.
// See also:  file_budget.hpp (the budget), libdw.hpp (debug information).

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

#include "core/elf/file_budget.hpp"

namespace ctprof {

// An address as linked, before the loader adds the load address of the file.
using FileAddress = std::uint64_t;

enum class ElfKind : std::uint8_t {
  None,        // not ELF, or shorter than a header
  OtherClass,  // a 32-bit file, or one of the other byte order
  Elf64,
};

struct NamedSection {
  std::string name;  // truncated if it is longer than any name that is used
  Elf64_Shdr header;
};

class ElfFile {
 public:
  static constexpr std::uint64_t kMaxSegments = 128;  // an ordinary file has about ten

  // Does not own the descriptor, which must outlive this object. Files that are read to examine one
  // file share a budget.
  explicit ElfFile(int fd, std::shared_ptr<FileBudget> budget = std::make_shared<FileBudget>());
  // Reads bytes in memory, which must outlive this object.
  explicit ElfFile(std::string_view image);

  // Keeps up to `size` bytes of the start of the file, so that later reads of them need no system
  // call. A small file is thus read in one system call.
  void keep_start(std::size_t size);

  ElfKind kind() const { return kind_; }
  // If false, all functions that return parts of the file return nothing.
  bool is_valid() const { return kind_ == ElfKind::Elf64; }
  // Returns whether the file is invalid because it is a 32-bit ELF file.
  bool is_32_bit() const {
    return kind_ == ElfKind::OtherClass && header_.e_ident[EI_CLASS] == ELFCLASS32;
  }
  // Returns the descriptor, which this object does not own; -1 if it reads memory.
  int fd() const { return fd_; }
  std::uint64_t size() const { return size_; }
  const std::shared_ptr<FileBudget>& budget() const { return budget_; }
  // Returns the header as in the file. REQUIRES: is_valid().
  const Elf64_Ehdr& header() const { return header_; }
  std::uint16_t machine() const { return header_.e_machine; }
  // Returns the entry point of a program; 0 if there is none.
  FileAddress entry() const { return header_.e_entry; }
  // Returns the program headers; empty if their size is invalid, shorter if the file is truncated.
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  // Returns the first segment of this type, or null.
  const Elf64_Phdr* segment(std::uint32_t type) const;
  // Reads the sections, in file order, at each call; empty if they are missing or broken.
  std::vector<Elf64_Shdr> sections() const;
  // Returns the first section of this name.
  std::optional<Elf64_Shdr> section(std::string_view name) const;
  // Reads the sections with their names at each call.
  std::vector<NamedSection> named_sections() const;

  // Returns the entries of the dynamic section, including the one that ends it; empty if no loaded
  // segment contains the section.
  const std::vector<Elf64_Dyn>& dynamic_entries() const;
  // Returns the value of the first entry with this tag.
  std::optional<std::uint64_t> find_dynamic_value(std::int64_t tag) const;
  // Returns whether it is a program, not a library, which may have an entry point, too.
  bool is_program() const;

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
  // Returns the file offset of `size` bytes at an address; nothing unless one segment contains all
  // of them in the file.
  std::optional<std::uint64_t> find_file_offset(FileAddress address, std::uint64_t size = 1) const;

  // A value that a caller derived from this file. Callers share it as long as one of them uses it.
  std::weak_ptr<const void>& shared_value() const { return shared_value_; }

  bool read(std::uint64_t offset, void* buffer, std::size_t size) const;
  // Returns up to `size` bytes, at most `limit`; fewer at the end of the file, and none if the read
  // fails.
  std::string read_bytes(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) const;
  // Returns the NUL-terminated text at `offset`, truncated at `limit`.
  std::string read_text(std::uint64_t offset, std::size_t limit) const;
  // Returns up to `count` items, at most `limit`; fewer at the end of the file.
  template <class T>
  std::vector<T> read_table(std::uint64_t offset, std::uint64_t count, std::uint64_t limit) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t available = count_available(offset, count < limit ? count : limit, sizeof(T));
    if (available == 0 || !budget_->charge(available * sizeof(T))) return {};
    std::vector<T> items(available);
    if (!read_charged(offset, items.data(), items.size() * sizeof(T))) items.clear();
    return items;
  }

 private:
  void read_header();
  std::string build_id_in_sections() const;
  bool read_charged(std::uint64_t offset, void* buffer, std::size_t size) const;
  std::size_t count_available(std::uint64_t offset, std::uint64_t count, std::size_t size) const;

  int fd_ = -1;
  std::string_view image_;
  std::string kept_start_;
  std::uint64_t size_ = 0;
  std::shared_ptr<FileBudget> budget_;
  ElfKind kind_ = ElfKind::None;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  mutable std::optional<std::vector<Elf64_Dyn>> dynamic_entries_;
  mutable std::weak_ptr<const void> shared_value_;
};

}  // namespace ctprof
