// An ELF file that may be hostile, read piece by piece within a budget.
//
// All reads use pread(2): if a file is truncated meanwhile, a read fails, but a mapping of it would
// raise SIGBUS. No size in the file is trusted: each table has a limit of its own, and all reads
// are charged to the budget.
//
// Contents: the budgets; header, program headers, dynamic section, bytes by file offset or by
// address.
// See also: elf_symbols.hpp for symbols and relocations.

#pragma once

#include <elf.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace ctprof::jemalloc {

// Limits the cost of reading foreign files, in bytes and time: of one file with all related reads,
// and of all files of a capture.
//
// A file can claim any size, be sparse, or be on a slow disk; a user can have thousands of them.
// When its budget is spent, reads fail as if the file were truncated, and the result for the file
// is FindStatus::TooCostly. A capture first gives each file the full budget; when that has become
// expensive, only the cost of an ordinary file; and finally only enough to dismiss a file by its
// headers, so that expensive files cannot hide the others.
struct Allowance {
  std::uint64_t bytes;
  std::chrono::milliseconds time;
};
inline constexpr Allowance kFullFileAllowance{512ULL << 20, std::chrono::milliseconds(1500)};
inline constexpr Allowance kOrdinaryFileAllowance{16ULL << 20, std::chrono::milliseconds(20)};
inline constexpr Allowance kHeadersOnlyAllowance{64ULL << 10, std::chrono::milliseconds(5)};

// The budget of one file. Threads: one at a time.
class FileBudget {
 public:
  using Clock = std::chrono::steady_clock;
  using NowFunction = Clock::time_point (*)();

  explicit FileBudget(const Allowance& allowance = kFullFileAllowance,
                      NowFunction now = Clock::now);

  // Charges `bytes` before they are read or created. Returns false once the budget was too small or
  // the time was over, and for every later call.
  bool charge(std::uint64_t bytes);
  bool is_spent() const { return is_spent_; }

  // Returns whether this was the full budget of a file, spent or not; then another capture would
  // have the same result.
  bool is_full() const { return is_full_; }
  std::chrono::nanoseconds elapsed() const { return now_() - start_; }

 private:
  NowFunction now_;
  std::uint64_t bytes_left_;
  Clock::time_point start_;
  Clock::time_point end_;
  bool is_full_;
  bool is_spent_ = false;
};

// The budget of a capture. Threads: any.
class CaptureBudget {
 public:
  explicit CaptureBudget(FileBudget::NowFunction now = FileBudget::Clock::now) : now_(now) {}

  // Returns the budget of the next file.
  Allowance next_allowance() const;
  void charge(const FileBudget& file) { spent_ns_ += file.elapsed().count(); }
  FileBudget::NowFunction now() const { return now_; }

 private:
  FileBudget::NowFunction now_;
  std::atomic<std::int64_t> spent_ns_{0};
};

struct NamedSection {
  std::string name;  // truncated if it is longer than any name that is used
  Elf64_Shdr header;
};

enum class ElfKind : std::uint8_t { None, OtherClass, Elf64 };

class ElfFile {
 public:
  // Does not own `fd`, which outlives this object. Files that are read to examine one file share a
  // budget.
  explicit ElfFile(int fd, std::shared_ptr<FileBudget> budget = std::make_shared<FileBudget>());

  // None: not ELF, or an invalid header; OtherClass: 32-bit or big-endian, and nothing else is
  // read.
  ElfKind kind() const { return kind_; }
  std::uint16_t machine() const { return header_.e_machine; }
  int fd() const { return fd_; }
  std::uint64_t size() const { return size_; }
  const std::shared_ptr<FileBudget>& budget() const { return budget_; }

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  // Returns the thread-local segment, or null.
  const Elf64_Phdr* find_tls() const;
  // Returns the segment with the lowest loaded address.
  const Elf64_Phdr* find_first_load() const;

  // Returns whether it is a program, not a library: then its thread-local storage is next to the
  // thread pointer.
  bool is_program() const;
  // Returns the value of the first entry of the dynamic section with this tag.
  std::optional<std::uint64_t> find_dynamic_value(std::int64_t tag) const;

  // Returns the sections; empty if the file has none, or invalid ones.
  std::vector<Elf64_Shdr> sections() const;
  std::vector<NamedSection> named_sections() const;

  std::optional<std::uint64_t> find_file_offset(std::uint64_t address) const;
  bool read(std::uint64_t offset, void* buffer, std::size_t size) const;
  // Reads as many of `count` items as the file contains, at most `limit`.
  template <class T>
  std::vector<T> table(std::uint64_t offset, std::uint64_t count, std::uint64_t limit) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t item_count =
        count_fitting_items(offset, count < limit ? count : limit, sizeof(T));
    if (item_count == 0 || !budget_->charge(item_count * sizeof(T))) return {};
    std::vector<T> items(item_count);
    if (!read_charged(offset, items.data(), items.size() * sizeof(T))) items.clear();
    return items;
  }

 private:
  void read_header();
  bool read_charged(std::uint64_t offset, void* buffer, std::size_t size) const;
  std::size_t count_fitting_items(std::uint64_t offset, std::uint64_t count,
                                  std::size_t size) const;

  int fd_;
  std::shared_ptr<FileBudget> budget_;
  std::uint64_t size_ = 0;
  ElfKind kind_ = ElfKind::None;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
};

}  // namespace ctprof::jemalloc
