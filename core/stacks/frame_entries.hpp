// Call frame information: the bytes of .eh_frame or .debug_frame, and which of its entries covers
// an address.
//
// There is one entry (FDE) for a function, which shares what is common (a CIE) with many. Found are
// they by a table that a linker made (.eh_frame_hdr), or by one that is made here by walking all
// entries once. Nothing that they say is believed: an entry that does not fit into its section, or
// does not cover the address it was found for, is none.
//
// What is not here: what entries say of an address (frame_program.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/stacks/byte_cursor.hpp"
#include "core/stacks/elf_file.hpp"

namespace ctprof {

// What functions share.
struct CommonEntry {
  std::uint64_t code_factor = 0;
  std::int64_t data_factor = 0;
  std::uint64_t ra_register = 0;
  std::uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  bool is_signal = false;
  std::string_view program;
};

// Of one function. The programs are parts of the section's bytes.
struct FunctionEntry {
  FileAddress start = 0;
  std::uint64_t size = 0;
  CommonEntry common;
  std::string_view program;
};

class FrameEntries {
 public:
  enum class Format : std::uint8_t { EhFrame, DebugFrame };

  FrameEntries() = default;
  // `address`: where the bytes are loaded.
  FrameEntries(Format format, std::string bytes, FileAddress address);

  // Takes the table of .eh_frame_hdr, which is loaded at `address`. False where it is of a kind
  // that no linker makes.
  bool take_table(std::string_view header, FileAddress address);
  // Makes a table of the entries.
  void make_table();

  std::optional<FunctionEntry> find(FileAddress address) const;
  // What they take in memory.
  std::size_t bytes() const { return bytes_.size() + table_.size() * sizeof(Place); }

 private:
  // Offsets from the first function, and in the section: eight bytes, for programs have 300,000.
  struct Place {
    std::uint32_t start;
    std::uint32_t entry;
  };

  std::optional<FunctionEntry> function_at(std::uint64_t offset) const;
  std::optional<CommonEntry> common_at(std::uint64_t offset) const;
  std::uint64_t pointer(ByteCursor& cursor, std::uint8_t encoding) const;
  void add(FileAddress start, std::uint64_t entry);

  Format format_ = Format::EhFrame;
  std::string bytes_;
  FileAddress address_ = 0;
  FileAddress first_ = 0;  // start of the first function
  std::vector<Place> table_;
};

}  // namespace ctprof
