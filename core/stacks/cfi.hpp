// The call frame information of a file, in memory: from an address of code to its rule.
//
// It is read whole when the file is first met, so that no later step of an unwinder waits for a
// file system; LLVM's library has 6 MiB of it, libc 180 KiB. `.eh_frame` is searched first, then
// the function table of a Go program (go_table.hpp), then `.debug_frame`.
//
// It may be hostile, so work is counted in steps, each of some nanoseconds: reading the file takes
// no more than kMostStepsOfReading, one rule no more than kMostStepsOfRule. What all rules of a
// file may take is up to whoever asks (modules.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/stacks/elf_file.hpp"
#include "core/stacks/frame_entries.hpp"
#include "core/stacks/frame_program.hpp"
#include "core/stacks/go_table.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

// Where a function is.
struct FunctionRange {
  FileAddress start = 0;
  std::uint64_t size = 0;
};

class Cfi {
 public:
  // Of two sections: 64 MiB of bytes or 16 MiB that are unpacked, and as many entries as are
  // walked.
  static constexpr std::uint64_t kMostStepsOfReading = 56 << 20;

  // Knows of no code.
  Cfi() = default;
  explicit Cfi(const ElfFile& file);

  // The function that includes an address, by the entry for it; nothing where there is none.
  std::optional<FunctionRange> function_at(FileAddress address) const;
  // The rule at an address, which Cfa::None says there is none for. Its key is left to the caller.
  Rule rule_at(FileAddress address) const;
  // Visits the rules of all addresses, the same ones that rule_at() returns: Cfa::Unknown also
  // where a rule is missing because there are too many functions. Returns false if `visit` did, if
  // it takes more than that many steps, or if the functions of the file are not sorted.
  bool for_each_rule(std::uint64_t most_steps, const RuleVisitor& visit) const;
  // True: of some functions there is no information, because there are too many. An address without
  // a rule may be in one of these.
  bool is_cut() const { return is_cut_ || eh_frame_.is_cut() || debug_frame_.is_cut(); }
  // The work that was done until now, for reading it and for rules.
  std::uint64_t steps() const {
    return steps_ + eh_frame_.steps() + debug_frame_.steps() + go_steps();
  }
  // Forgets all functions; work remains counted.
  void drop();
  // What it takes in memory.
  std::size_t bytes() const {
    return eh_frame_.bytes() + debug_frame_.bytes() + (go_ ? go_->bytes() : 0);
  }

 private:
  FrameEntries read_eh_frame(const ElfFile& file);
  FrameEntries read_debug_frame(const ElfFile& file);
  std::string unpacked(std::string_view section);
  bool visit_rules(const FrameEntries& entries, std::uint64_t most_steps,
                   const RuleVisitor& visit) const;

  RegisterNumbers registers_ = kX86Registers;
  FrameEntries eh_frame_;
  FrameEntries debug_frame_;
  std::uint64_t go_steps() const { return go_ ? go_->steps() : 0; }

  std::shared_ptr<const GoTable> go_;  // null: of no file
  bool is_cut_ = false;
  mutable LongPrograms programs_;
  mutable std::uint64_t steps_ = 0;  // of programs, and of bytes that were read
};

}  // namespace ctprof
