// An ELF file that nobody vouches for, read piece by piece.
//
// Everything is read with pread(2): a file that is cut short while we look makes a read fail, where
// a mapping of it would raise SIGBUS. Sizes that the file claims bound nothing but our patience:
// each table has a limit of its own, and all reading is charged to a budget.
//
// What is here:   header, program headers, dynamic section, bytes by file offset or by address.
// What is not:    symbols and relocations (elf_symbols.hpp, tls_slots.hpp).

#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/budget.hpp"

namespace ctprof::jemalloc {

struct NamedSection {
  std::string name;  // cut short where it is longer than any that means something to us
  Elf64_Shdr header;
};

enum class ElfKind : std::uint8_t { None, OtherClass, Elf64 };

class ElfFile {
 public:
  // Does not own `fd`, which outlives it. Files that are read for one verdict share a budget.
  explicit ElfFile(int fd, std::shared_ptr<FileBudget> budget = std::make_shared<FileBudget>());

  // None: not ELF, or broken at its head; OtherClass: 32-bit or big-endian, and nothing else of it
  // is known.
  ElfKind kind() const { return kind_; }
  std::uint16_t machine() const { return header_.e_machine; }
  int fd() const { return fd_; }
  std::uint64_t size() const { return size_; }
  const std::shared_ptr<FileBudget>& budget() const { return budget_; }

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  // The thread-local segment, or null.
  const Elf64_Phdr* tls() const;
  // The lowest address that is loaded, and where it is in the file.
  const Elf64_Phdr* first_load() const;

  // A program, not a library: its thread-local storage stands next to the thread pointer.
  bool is_program() const;
  // The value of the first such entry of the dynamic section.
  std::optional<std::uint64_t> dynamic(std::int64_t tag) const;

  // Empty when the file has none, or broken ones.
  std::vector<Elf64_Shdr> sections() const;
  std::vector<NamedSection> named_sections() const;

  std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
  bool read(std::uint64_t offset, void* to, std::size_t size) const;
  // As many of `count` items as the file holds, at most `limit`.
  template <class T>
  std::vector<T> table(std::uint64_t offset, std::uint64_t count, std::uint64_t limit) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t fits = fitting(offset, count < limit ? count : limit, sizeof(T));
    if (fits == 0 || !budget_->charge(fits * sizeof(T))) return {};
    std::vector<T> items(fits);
    if (!read_charged(offset, items.data(), items.size() * sizeof(T))) items.clear();
    return items;
  }

 private:
  void read_header();
  bool read_charged(std::uint64_t offset, void* to, std::size_t size) const;
  std::size_t fitting(std::uint64_t offset, std::uint64_t count, std::size_t size) const;

  int fd_;
  std::shared_ptr<FileBudget> budget_;
  std::uint64_t size_ = 0;
  ElfKind kind_ = ElfKind::None;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
};

}  // namespace ctprof::jemalloc
