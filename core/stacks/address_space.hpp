// Maps the addresses of a process to modules and offsets in them.
//
// An address space is initialized from /proc/<pid>/maps. Then each new mapping that the kernel
// reports replaces the mappings that it overlaps; execve(2) creates a new address space. Only
// mappings of code are stored.
//
// Contents:  mappings, the parser of their text, and the lookup of an address.
// See also:  modules.hpp (the mapped files and their contents).

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

struct FileId {
  std::uint64_t device = 0;  // encoded by makedev(3)
  std::uint64_t inode = 0;   // 0: no file
  // Distinguishes contents of the inode, and consecutive files with the same inode; 0: unknown.
  std::uint64_t version = 0;
  auto operator<=>(const FileId&) const = default;
};

// Removes the suffix " (deleted)" that the kernel adds to the path of a deleted file in maps.
std::string_view remove_deleted_suffix(std::string_view path);
// Returns whether the path is that of a file in memory only: memfd_create(2).
bool is_memory_file(std::string_view path);

// One mapping of code. The path is as the kernel writes it, including escapes and " (deleted)".
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // offset of the first byte in the file
  FileId file;
  std::string path;
  // Only for a file in memory: whether it is an ELF file rather than generated code.
  bool is_elf_in_memory = false;
};

// Parses the mappings of code in the text of /proc/<pid>/maps, in order; skips malformed lines.
// Returns at most 16,384. Programs copy code to anonymous memory to use huge pages: anonymous code
// that exactly fills a gap between two mappings of the same file counts as a mapping of that file.
std::vector<Mapping> parse_code_mappings(std::string_view maps);

// Returns the mapping that begins at `start`, whether code or not; nothing if there is none.
std::optional<Mapping> find_mapping(std::string_view maps, std::uint64_t start);

// A range [start, end) of code of a process.
struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // offset of the first byte in the module
  std::uint32_t module = 0;
};

class AddressSpace {
 public:
  explicit AddressSpace(std::uint64_t process) : process_(process) {}
  // Copies the address space of the parent, as fork(2) does.
  AddressSpace(std::uint64_t process, const AddressSpace& parent)
      : process_(process), ranges_(parent.ranges_) {}

  std::uint64_t process() const { return process_; }
  // Adds a range and replaces what it overlaps. Does nothing if 16,384 ranges exist. REQUIRES:
  // start < end.
  void add_mapping(const CodeRange& range);
  // Returns the range that contains an address, or null. The pointer is valid until the next
  // add_mapping().
  const CodeRange* find(std::uint64_t address) const;
  std::size_t size() const { return ranges_.size(); }
  // Returns all ranges, by address; valid like the pointer of find().
  std::span<const CodeRange> ranges() const { return ranges_; }

 private:
  std::uint64_t process_;
  std::vector<CodeRange> ranges_;  // sorted by address, disjoint
};

}  // namespace ctprof
