// An ELF file that may be hostile, read piece by piece within a budget.
//
// Everything is read with pread(2): a file that is cut short meanwhile makes a read fail, where a
// mapping of it would raise SIGBUS. No size that the file claims is believed: each table has a
// limit of its own, and all reading is charged to the budget.
//
// What is here:   the budgets; header, program headers, dynamic section, bytes by file offset or by
//                 address.
// What is not:    symbols and relocations (elf_symbols.hpp).

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

// What reading a foreign file may cost, in bytes and in time: one file with all that is read for
// it, and all files of a capture.
//
// A file can claim any size, be sparse, or be on a slow disk; a user can have thousands of them.
// When its budget is spent, reading fails as if the file were cut short, and the file's verdict is
// Attach::TooCostly. A capture first gives each file all that one may cost; once that has become
// expensive, only what an ordinary file costs; and in the end only enough to dismiss a file by its
// headers, so that costly files cannot hide the others.
struct Allowance {
  std::uint64_t bytes;
  std::chrono::milliseconds time;
};
inline constexpr Allowance kAllowanceOfFile{512ULL << 20, std::chrono::milliseconds(1500)};
inline constexpr Allowance kOrdinaryFile{16ULL << 20, std::chrono::milliseconds(20)};
inline constexpr Allowance kHeadersOnly{64ULL << 10, std::chrono::milliseconds(5)};

// Of one file. One thread.
class FileBudget {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();

  explicit FileBudget(const Allowance& allowance = kAllowanceOfFile, Now now = Clock::now);

  // Takes `bytes` off the budget before they are read or made. False from the first time on that
  // there were not enough, or the time was over.
  bool charge(std::uint64_t bytes);
  bool spent() const { return spent_; }

  // Spent or not, the budget was all that a file may ever cost: another capture would fare no
  // better.
  bool is_full() const { return is_full_; }
  std::chrono::nanoseconds elapsed() const { return now_() - start_; }

 private:
  Now now_;
  std::uint64_t bytes_left_;
  Clock::time_point start_;
  Clock::time_point end_;
  bool is_full_;
  bool spent_ = false;
};

// Of a capture. Threads may use it at once.
class CaptureBudget {
 public:
  explicit CaptureBudget(FileBudget::Now now = FileBudget::Clock::now) : now_(now) {}

  // What the next file may cost.
  Allowance next() const;
  void spend(const FileBudget& file) { spent_ns_ += file.elapsed().count(); }
  FileBudget::Now now() const { return now_; }

 private:
  FileBudget::Now now_;
  std::atomic<std::int64_t> spent_ns_{0};
};

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

  // A program, not a library: its thread-local storage is next to the thread pointer.
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
