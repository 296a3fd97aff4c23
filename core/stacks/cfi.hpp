// Stores the call frame information of a file in memory and finds the rule for an address of code.
//
// It is read completely when the file is first used, so that no later step of an unwinder waits for
// a file system; LLVM's library has 6 MiB of call frame information, libc 180 KiB. `.eh_frame` is
// searched first, then the function table of a Go program (go_table.hpp), then `.debug_frame`.
//
// The file may be hostile, so work is counted in steps of some nanoseconds each: reading the file
// takes at most kMaxReadSteps, one rule at most kMaxStepsPerRule. The caller limits the total
// for all rules of a file (modules.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/elf/elf_file.hpp"
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
  static constexpr std::uint64_t kMaxReadSteps = 56 << 20;

  // Creates an object without functions.
  Cfi() = default;
  explicit Cfi(const ElfFile& file);

  // Returns the function whose entry covers an address; nothing if there is none.
  std::optional<FunctionRange> find_function(FileAddress address) const;
  // Returns the rule at an address, or Cfa::None if there is none. The caller sets its key.
  UnwindRule find_rule(FileAddress address) const;
  // Visits the rules of all addresses, which equal those of find_rule(). They are also Cfa::Unknown
  // if a rule is missing because there are too many functions. Returns false if `visit` does, if
  // the visit takes more than `max_steps`, or if the functions of the file are unsorted.
  bool visit_all_rules(std::uint64_t max_steps, const RuleVisitor& visit) const;
  // Returns whether some functions are missing because there are too many. An address without a
  // rule may belong to one of them.
  bool is_truncated() const {
    return is_truncated_ || eh_frame_.is_truncated() || debug_frame_.is_truncated();
  }
  // Returns the steps so far, for reading the file and for rules.
  std::uint64_t steps() const {
    return steps_ + eh_frame_.steps() + debug_frame_.steps() + get_go_steps();
  }
  // Removes all functions; the steps remain counted.
  void clear();
  // Returns the size in memory.
  std::size_t get_memory_size() const {
    return eh_frame_.get_memory_size() + debug_frame_.get_memory_size() +
           (go_table_ ? go_table_->get_memory_size() : 0);
  }

 private:
  FrameEntries read_eh_frame(const ElfFile& file);
  FrameEntries read_debug_frame(const ElfFile& file);
  std::string unpack_section(std::string_view section);
  bool visit_rules(const FrameEntries& entries, std::uint64_t max_steps,
                   const RuleVisitor& visit) const;

  RegisterNumbers registers_ = kX86Registers;
  FrameEntries eh_frame_;
  FrameEntries debug_frame_;
  std::uint64_t get_go_steps() const { return go_table_ ? go_table_->steps() : 0; }

  std::shared_ptr<const GoTable> go_table_;  // null: no file was read
  bool is_truncated_ = false;
  mutable LongPrograms programs_;
  mutable std::uint64_t steps_ = 0;  // of programs, and for bytes that were read
};

}  // namespace ctprof
