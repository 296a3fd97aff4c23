// Call frame information: the bytes of .eh_frame or .debug_frame, and which of its entries covers
// an address.
//
// There is one entry (FDE) for a function, which shares what is common (a CIE) with many. Found are
// they by a table that a linker made (.eh_frame_hdr), or by one that is made here by walking all
// entries once. Nothing that they say is believed: an entry that does not fit into its section, or
// does not cover the address it was found for, is none.
//
// Work is counted in steps, and no entry can cause more than kMostStepsOfEntry of them: a CIE is
// read once however many FDEs refer to it, and the texts and numbers in it have a largest size.
//
// What is not here: what entries say of an address (frame_program.hpp).

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
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

  // Steps of one entry: of its CIE, where that was not read yet, and of itself.
  static constexpr std::uint64_t kStepsOfCommon = 64, kStepsOfFunction = 32;
  static constexpr std::uint64_t kMostStepsOfEntry = kStepsOfCommon + kStepsOfFunction;
  // Entries that make_table() walks, and CIEs that it reads: LLVM's library has 98,256 entries, and
  // .debug_frame has a CIE for each source file.
  static constexpr std::size_t kMostWalked = 256 << 10;
  static constexpr std::size_t kMostCommonsWalked = 32 << 10;

  FrameEntries() = default;
  // `address`: where the bytes are loaded.
  FrameEntries(Format format, std::string bytes, FileAddress address);

  // Takes the table of .eh_frame_hdr, which is loaded at `address`. False where it is of a kind
  // that no linker makes.
  bool take_table(std::string_view header, FileAddress address);
  // Makes a table of the entries. It ends where they are more than it walks (is_cut()).
  void make_table();

  std::optional<FunctionEntry> find(FileAddress address) const;
  // Receives a function, and the addresses [begin, end) for which find() returns it. Returns false
  // to stop.
  using Visitor =
      std::function<bool(const FunctionEntry& function, FileAddress begin, FileAddress end)>;
  // Visits all functions in the order of their addresses. Returns false if `visit` did, if it takes
  // more steps, or if the table is not sorted or its functions are impossibly large.
  bool for_each(std::uint64_t most_steps, const Visitor& visit) const;
  // What they take in memory.
  std::size_t bytes() const { return bytes_.size() + table_.size() * sizeof(Place); }
  // True: functions are missing, because there are too many entries.
  bool is_cut() const { return is_cut_; }
  // The work that was done until now, also by find().
  std::uint64_t steps() const { return steps_; }

 private:
  // Offsets from the first function, and in the section: eight bytes, for programs have 300,000.
  struct Place {
    std::uint32_t start;
    std::uint32_t entry;
  };
  // A CIE that was read, whose program is told by its place, for the section's bytes may move.
  struct Common {
    std::optional<CommonEntry> entry;
    std::size_t program_at = 0;
    std::size_t program_size = 0;
  };

  std::optional<FunctionEntry> function_at(std::uint64_t offset) const;
  std::optional<CommonEntry> common_at(std::uint64_t offset) const;
  Common read_common(std::uint64_t offset) const;
  std::uint64_t pointer(ByteCursor& cursor, std::uint8_t encoding) const;
  void add(FileAddress start, std::uint64_t entry);

  Format format_ = Format::EhFrame;
  std::string bytes_;
  FileAddress address_ = 0;
  FileAddress first_ = 0;  // start of the first function
  std::vector<Place> table_;
  bool is_cut_ = false;
  mutable std::unordered_map<std::uint64_t, Common, SeededHash> commons_;  // by offset
  mutable std::size_t commons_read_ = 0;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace ctprof
