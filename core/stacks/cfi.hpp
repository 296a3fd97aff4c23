// Stores the call frame information of a file in memory and finds the rule for an address of code.
//
// It is read completely when the file is first used, so that no later step of an unwinder waits for
// a file system; LLVM's library has 6 MiB of it, libc 180 KiB. `.eh_frame` is searched first, then
// the function table of a Go program (go_table.hpp), then `.debug_frame`.
//
// The file may be hostile, so work is counted in steps of some nanoseconds each: reading the file
// takes at most kMostStepsOfReading, one rule at most kMostStepsOfRule. The caller limits the total
// for all rules of a file (modules.hpp).

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

// The range of a function.
struct FunctionRange {
  FileAddress start = 0;
  std::uint64_t size = 0;
};

class Cfi {
 public:
  // Limit for two sections: 64 MiB of bytes or 16 MiB of unpacked bytes each, and the limit of
  // walked entries.
  static constexpr std::uint64_t kMostStepsOfReading = 56 << 20;

  // Creates an object without functions.
  Cfi() = default;
  explicit Cfi(const ElfFile& file);

  // Returns the function whose entry covers an address; nothing if there is none.
  std::optional<FunctionRange> function_at(FileAddress address) const;
  // Returns the rule at an address, or Cfa::None if there is none. The caller sets its key.
  Rule rule_at(FileAddress address) const;
  // Visits the rules of all addresses, which equal those of find_rule(). They are Cfa::Unknown also
  // if a rule is missing because there are too many functions. Returns false if `visit` does, if
  // the visit takes more than `most_steps`, or if the functions of the file are unsorted.
  bool for_each_rule(std::uint64_t most_steps, const RuleVisitor& visit) const;
  // Returns whether some functions are missing because there are too many. An address without a
  // rule may belong to one of them.
  bool is_cut() const { return is_cut_ || eh_frame_.is_cut() || debug_frame_.is_cut(); }
  // Returns the steps so far, for reading the file and for rules.
  std::uint64_t steps() const {
    return steps_ + eh_frame_.steps() + debug_frame_.steps() + go_steps();
  }
  // Removes all functions; the steps remain counted.
  void drop();
  // Returns the size in memory.
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

  std::shared_ptr<const GoTable> go_;  // null: no file was read
  bool is_cut_ = false;
  mutable LongPrograms programs_;
  mutable std::uint64_t steps_ = 0;  // of programs, and for bytes that were read
};

}  // namespace ctprof
