// What code a process has mapped, and where: from an address to a module and a place in it.
//
// It begins as /proc/<pid>/maps, and then follows what the kernel tells of new mappings, each of
// which replaces what it overlaps; execve(2) makes a new one. Only mappings of code are kept.
//
// What is here:   mappings, their text, who is mapped at an address.
// What is not:    files and what is in them (modules.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

struct FileId {
  std::uint64_t device = 0;  // as makedev(3) puts major and minor together
  std::uint64_t inode = 0;   // 0: no file
  // Distinguishes contents of the inode, and files that had it one after the other; 0: unknown.
  std::uint64_t version = 0;
  auto operator<=>(const FileId&) const = default;
};

// A path in the text of maps without what the kernel writes behind that of a file that is gone.
std::string_view without_deleted(std::string_view path);
// Whether it is the name of a file in memory only: memfd_create(2).
bool is_memory_file(std::string_view path);

// One mapping of code. A path is as the kernel writes it, escapes and " (deleted)" included.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // of its first byte in the file
  FileId file;
  std::string path;
  bool is_program = false;  // of a file in memory only: it is an ELF file, and not generated code
};

// The mappings of code that the text of /proc/<pid>/maps tells, in its order; a line that cannot be
// understood is passed over. At most 16,384 of them. Code in anonymous memory that exactly fills a
// gap between two mappings of one file is a copy of that part of the file, as programs make it for
// huge pages: it is a mapping of the file here.
std::vector<Mapping> code_mappings(std::string_view maps);

// The mapping that begins at `start`, of code or not; nothing where none does.
std::optional<Mapping> mapping_at(std::string_view maps, std::uint64_t start);

// Code at [start, end) of a process.
struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // of its first byte in the module
  std::uint32_t module = 0;
};

class AddressSpace {
 public:
  explicit AddressSpace(std::uint64_t process) : process_(process) {}
  // As fork(2) makes it.
  AddressSpace(std::uint64_t process, const AddressSpace& parent)
      : process_(process), ranges_(parent.ranges_) {}

  std::uint64_t process() const { return process_; }
  // Replaces what it overlaps. Where there are 16,384 already, nothing changes. REQUIRES: start <
  // end.
  void map(const CodeRange& range);
  // The range that holds an address, or null. It lives until the next map().
  const CodeRange* find(std::uint64_t address) const;
  std::size_t size() const { return ranges_.size(); }

 private:
  std::uint64_t process_;
  std::vector<CodeRange> ranges_;  // by address, apart from each other
};

}  // namespace ctprof
