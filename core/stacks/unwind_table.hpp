// Packs the rules of a whole module into tables for programs that walk stacks in the kernel: four
// bytes for each range of code with the same rule. The layout is that of ctprof/abi/unwind.h.
//
//   const ElfFile file(fd);
//   const auto table = pack_rules(file, Cfi(file));
//
// Cfi decodes the rules; this file only packs them. A rule that a table cannot express, or that
// depends on registers other than sp and bp, becomes CTPROF_UNWIND_UNKNOWN: a walk that finds it
// copies the stack for the Unwinder.
//
// The start function of a program has a root rule even if its file does not describe it. An example
// is the dynamic linker, where all programs begin.
//
// Files are untrusted: PackLimits limits work, rows, pages and rules, and a file whose entries
// contradict each other (unsorted, overlapping) gets no table.
//
// Contents:  the packed form of one rule; the table of a file; the lookup of a rule in it.
// See also:  cfi.hpp (the rules of addresses).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "core/stacks/cfi.hpp"
#include "core/stacks/rule.hpp"
#include "ctprof/abi/unwind.h"

namespace ctprof {

struct PackLimits {
  // Steps of Cfi. All rules of LLVM's library, the largest in Debian, take 20 million.
  std::uint64_t steps = 64 << 20;
  // GCC's compiler has 400,000 rows, node 280,000.
  std::size_t rows = 4 << 20;
  // Pages of 64 KiB of code each: 1 GiB, a quarter of the space of recorders. Chromium has 3600.
  std::size_t pages = 16 << 10;
  // Limit on different rules; further rules are unknown. It is a sixteenth of the space of
  // recorders. Large programs (LLVM, GCC, node, Go's) have less than 1000.
  std::size_t rules = 8 << 10;
};

struct UnwindTable {
  static constexpr unsigned kPageBits = 16;
  static constexpr std::size_t kMaxRules = 1 << 16;  // a row has 16 bits for the index of its rule
  static constexpr std::uint16_t kNoRule = 0,
                                 kUnknownRule = 1;  // indices of rules that always exist

  std::uint64_t first_page = 0;
  std::vector<ctprof_unwind_page> pages;
  std::vector<ctprof_unwind_row> rows;
  std::vector<ctprof_unwind_rule> rules;

  // Returns the rule for the code at an offset in the file.
  const ctprof_unwind_rule& find_rule(std::uint64_t offset) const;
  // Returns the size in memory.
  std::size_t get_memory_size() const;
};

// Returns the rule in its packed form; CTPROF_UNWIND_UNKNOWN if it has none.
ctprof_unwind_rule pack_rule(const UnwindRule& rule);

// Packs the rules of all code of a file, x86-64 only. Returns nothing if the file is for another
// machine, exceeds a limit, or contradicts itself. REQUIRES: `cfi` was made from `file`.
std::optional<UnwindTable> pack_rules(const ElfFile& file, const Cfi& cfi,
                                      const PackLimits& limits = {});

}  // namespace ctprof
