// Parses call frame information (.eh_frame or .debug_frame) and finds the entry that covers an
// address.
//
// Each function has one entry (FDE), which refers to data that it shares with many others (a CIE).
// Entries are found through the table of a linker (.eh_frame_hdr), or through a table that is built
// here by walking all entries once. Contents are not trusted: an entry that does not fit into its
// section, or does not cover the address, is ignored.
//
// Work is counted in steps, and no entry can cause more than kMaxStepsPerEntry of them: a CIE is
// read once, however many FDEs refer to it, and its texts and numbers have a maximum size.
//
// See also: frame_program.hpp (the unwind rule of an address).

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/elf/byte_cursor.hpp"
#include "core/elf/elf_file.hpp"

namespace ctprof {

// The data that functions share (CIE).
struct CommonEntry {
  std::uint64_t code_factor = 0;
  std::int64_t data_factor = 0;
  std::uint64_t ra_register = 0;
  std::uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  bool is_signal = false;
  std::string_view program;
};

// The entry of one function (FDE). The programs are parts of the section's bytes.
struct FunctionEntry {
  FileAddress start = 0;
  std::uint64_t size = 0;
  CommonEntry common;
  std::string_view program;
};

class FrameEntries {
 public:
  enum class Format : std::uint8_t { EhFrame, DebugFrame };

  // Steps for one entry: for its CIE, if it was not read yet, and for the entry itself.
  static constexpr std::uint64_t kStepsPerCommonEntry = 64, kStepsPerFunctionEntry = 32;
  static constexpr std::uint64_t kMaxStepsPerEntry = kStepsPerCommonEntry + kStepsPerFunctionEntry;
  // Limits on entries that build_table() walks and CIEs that it reads: LLVM's library has 98,256
  // entries, and .debug_frame has a CIE for each source file.
  static constexpr std::size_t kMaxWalkedEntries = 256 << 10;
  static constexpr std::size_t kMaxWalkedCommonEntries = 32 << 10;

  FrameEntries() = default;
  // `address`: where the bytes are loaded.
  FrameEntries(Format format, std::string bytes, FileAddress address);

  // Reads the table of .eh_frame_hdr, which is loaded at `address`. Returns false if it has a
  // format that no linker writes.
  bool read_table(std::string_view header, FileAddress address);
  // Builds a table from the entries. It stops at the limit of walked entries (is_truncated()).
  void build_table();

  std::optional<FunctionEntry> find(FileAddress address) const;
  // Receives a function, and the addresses [begin, end) for which find() returns it. Returns false
  // to stop the visit.
  using Visitor =
      std::function<bool(const FunctionEntry& function, FileAddress begin, FileAddress end)>;
  // Visits all functions in address order. Returns false if `visit` does, if it takes more than
  // `max_steps`, or if the table is unsorted or has impossibly large functions.
  bool for_each(std::uint64_t max_steps, const Visitor& visit) const;
  // Returns the size in memory.
  std::size_t get_memory_size() const { return bytes_.size() + table_.size() * sizeof(TableRow); }
  // Returns whether functions are missing because there are too many entries.
  bool is_truncated() const { return is_truncated_; }
  // Returns the number of steps so far, including those of find().
  std::uint64_t steps() const { return steps_; }

 private:
  // Offsets from the first function, and in the section. They take eight bytes, because programs
  // have 300,000 functions.
  struct TableRow {
    std::uint32_t start;
    std::uint32_t entry;
  };
  // A CIE that was read. Its program is stored as an offset, because the section's bytes may move.
  struct CachedCommonEntry {
    std::optional<CommonEntry> entry;
    std::size_t program_offset = 0;
    std::size_t program_size = 0;
  };

  std::optional<FunctionEntry> read_function(std::uint64_t offset) const;
  std::optional<CommonEntry> find_common(std::uint64_t offset) const;
  CachedCommonEntry read_common(std::uint64_t offset) const;
  std::uint64_t read_pointer(ByteCursor& cursor, std::uint8_t encoding) const;
  void add_row(FileAddress start, std::uint64_t entry);

  Format format_ = Format::EhFrame;
  std::string bytes_;
  FileAddress address_ = 0;
  FileAddress first_function_ = 0;  // start of the first function
  std::vector<TableRow> table_;
  bool is_truncated_ = false;
  // By offset.
  mutable std::unordered_map<std::uint64_t, CachedCommonEntry, SeededHash> common_entries_;
  mutable std::size_t common_entries_read_ = 0;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace ctprof
