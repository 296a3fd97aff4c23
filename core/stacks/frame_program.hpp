// Runs the program of a function's call frame information up to one address, and returns the unwind
// rule for it.
//
// A program is a list of instructions, such as: from here on, the CFA is this, and this register is
// saved there. Its length and its stack of remembered states are limited; a program that exceeds a
// limit, or is truncated, gives Cfa::Unknown. Work is counted in steps: one for each byte of a
// program, and more for a state that is remembered or restored. For a long program, states in the
// middle of it are stored as checkpoints, so not each address runs it from the beginning.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/stacks/frame_entries.hpp"
#include "core/stacks/frame_registers.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

// Maximum steps for one byte of a program, and for one call of find_program_rule().
inline constexpr std::uint64_t kMaxStepsPerByte = 8;
inline constexpr std::uint64_t kMaxStepsPerRule = kMaxStepsPerByte * ((64 << 10) + (4 << 10));

// The checkpoints of one program.
struct FrameCheckpoints {
  static constexpr std::size_t kMaxRememberedStates = 2;

  // The data that all checkpoints depend on.
  struct Owner {
    FileAddress start = 0;
    const char* common = nullptr;
    std::uint64_t code_factor = 0;
    std::int64_t data_factor = 0;
    std::uint64_t ra_register = 0;
    bool operator==(const Owner&) const = default;
  };
  struct Checkpoint {
    FileAddress location = 0;
    std::size_t position = 0;  // in the program
    FrameState state;
    std::size_t remembered_count = 0;
    std::array<FrameState, kMaxRememberedStates> states;
  };

  Owner owner;
  std::vector<Checkpoint> all;  // in program order
};

// Checkpoints by the address of the program's first byte.
using LongPrograms = std::unordered_map<const char*, FrameCheckpoints>;

// Returns the rule for an address, and adds the steps of the search to `steps`. REQUIRES:
// `function` covers `address`; `programs` belong to the same file.
UnwindRule find_program_rule(const FunctionEntry& function, FileAddress address,
                             const RegisterNumbers& registers, LongPrograms& programs,
                             std::uint64_t& steps);

// Visits the rules of all addresses in [begin, end). They equal those of find_program_rule(), or
// are Cfa::Unknown if the search takes too long. Adds its steps to `steps`. Returns false if
// `visit` does. REQUIRES: as above, for each of these addresses.
bool visit_program_rules(const FunctionEntry& function, FileAddress begin, FileAddress end,
                         const RegisterNumbers& registers, LongPrograms& programs,
                         std::uint64_t& steps, const RuleVisitor& visit);

}  // namespace ctprof
