// The call frame information of a file, in memory: from an address of code to its rule.
//
// It is read whole when the file is first met, so that no later step of an unwinder waits for a
// file system; LLVM's library has 6 MiB of it, libc 180 KiB. `.eh_frame` is asked first, then
// `.debug_frame`: what the Go linker writes is in the latter alone.

#pragma once

#include <cstddef>

#include "core/stacks/elf_file.hpp"
#include "core/stacks/frame_entries.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

class Cfi {
 public:
  // Knows of no code.
  Cfi() = default;
  explicit Cfi(const ElfFile& file);

  // The rule at an address, which Cfa::None says there is none for. Its key is left to the caller.
  Rule rule_at(FileAddress address) const;
  // What it takes in memory.
  std::size_t bytes() const { return eh_frame_.bytes() + debug_frame_.bytes(); }

 private:
  RegisterNumbers registers_ = kX86Registers;
  FrameEntries eh_frame_;
  FrameEntries debug_frame_;
};

}  // namespace ctprof
