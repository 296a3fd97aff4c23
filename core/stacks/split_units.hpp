// Units of debug information that are in files of their own (split DWARF): a .dwo file for each, or
// all in a .dwp file beside the program.
//
// A reader of debug information gets a unit as a file of its own: its sections, and the part of the
// program's table of addresses that the unit refers to.
//
// Sizes and offsets in the files are not believed. Files are opened by the function that is handed
// over: paths in debug information may lead anywhere.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/stacks/elf_file.hpp"
#include "core/stacks/unpacked_elf.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// What the program itself says of a unit.
struct SplitUnit {
  std::string name, directory;     // of its .dwo file
  std::uint64_t id = 0;            // a hash
  std::uint64_t addresses_at = 0;  // of its addresses, in .debug_addr
  std::uint64_t ranges_at = 0;     // of its ranges, in .debug_ranges (DWARF 4)
};

class SplitUnits {
 public:
  using Open = std::function<sdk::Fd(const std::string& path)>;

  // `program` outlives it. `path`: where the program is.
  SplitUnits(const ElfFile& program, Open open, std::string path);

  // Null: it is not here, or too much was read.
  std::unique_ptr<MemoryElf> open(const SplitUnit& unit);

 private:
  // Bytes of all units.
  static constexpr std::uint64_t kMostBytes = 512 << 20;
  using Parts = std::vector<std::pair<std::string, std::string>>;  // names without ".dwo"
  struct File {
    explicit File(sdk::Fd opened) : fd(std::move(opened)), elf(fd.get()) {}
    sdk::Fd fd;
    ElfFile elf;
  };

  Parts parts_in_package(const SplitUnit& unit);
  Parts parts_in_file(const SplitUnit& unit);
  std::string section(const ElfFile& file, const std::string& name);
  std::string section_from(const char* name, std::uint64_t at);
  void read_package();

  const ElfFile& program_;
  Open open_;
  std::string path_;
  std::unique_ptr<File> package_;
  bool has_read_package_ = false;
  Parts package_sections_;
  std::string index_;
  std::uint64_t left_ = kMostBytes;
};

}  // namespace ctprof
