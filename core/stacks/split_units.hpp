// Reads units of debug information that have their own files (split DWARF): a .dwo file for each,
// or all in a .dwp file in the directory of the program.
//
// A unit is passed to a reader of debug information as an ELF file in memory: its sections, and the
// part of the program's address table that the unit refers to.
//
// Sizes and offsets in the files are not trusted. A function of the caller opens files, because
// paths in debug information may lead anywhere.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "core/stacks/unpacked_elf.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// The description of a unit in the skeleton unit of the program.
struct SplitUnit {
  std::string name, directory;         // of its .dwo file
  std::uint64_t id = 0;                // a hash
  std::uint64_t addresses_offset = 0;  // offset of its addresses in .debug_addr
  std::uint64_t ranges_offset = 0;     // offset of its ranges in .debug_ranges (DWARF 4)
};

class SplitUnits {
 public:
  using Open = std::function<sdk::Fd(const std::string& path)>;

  // `program` must outlive this object. `path` is the path of the program.
  SplitUnits(const ElfFile& program, Open open, std::string path);

  // Returns the unit, or null if its file is missing or a limit was exceeded.
  std::unique_ptr<MemoryElf> open(const SplitUnit& unit);

 private:
  // Limit on the bytes of all units.
  static constexpr std::uint64_t kMaxBytes = 512 << 20;
  using NamedSections = std::vector<std::pair<std::string, std::string>>;  // names without ".dwo"
  struct File {
    explicit File(sdk::Fd opened) : fd(std::move(opened)), elf(fd.get()) {}
    sdk::Fd fd;
    ElfFile elf;
  };

  NamedSections read_from_package(const SplitUnit& unit);
  NamedSections read_from_file(const SplitUnit& unit);
  std::string read_section(const ElfFile& file, const std::string& name);
  std::string read_section_from(const char* name, std::uint64_t at);
  void read_package();

  const ElfFile& program_;
  Open open_;
  std::string program_path_;
  std::unique_ptr<File> package_;
  bool has_read_package_ = false;
  NamedSections package_sections_;
  std::string index_;
  std::uint64_t remaining_bytes_ = kMaxBytes;
};

}  // namespace ctprof
