// Runs the program of a function's call frame information up to one address, and says what rule
// holds there.
//
// A program is a list of steps: from here on, the CFA is that, and this register is saved there.
// Its length is bounded, and so is the stack of states that it may remember; one that goes beyond,
// or is cut short, gives Cfa::Unknown. Work is counted in steps: one for each byte of a program,
// and more for a state that is remembered or restored. A long program is not run from its beginning
// for each address: states in the middle of it are kept.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/stacks/frame_entries.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

// Steps that one byte of a program can take, and one call of rule_in().
inline constexpr std::uint64_t kMostStepsOfByte = 8;
inline constexpr std::uint64_t kMostStepsOfRule = kMostStepsOfByte * ((64 << 10) + (4 << 10));

// What holds at one place of a program.
struct FrameState {
  struct Where {
    Saved saved = Saved::Unknown;
    std::int64_t offset = 0;
  };

  std::uint64_t cfa_register = UINT64_MAX;  // where cfa is Sp: by number, it may yet change
  Cfa cfa = Cfa::Unknown;
  std::int64_t cfa_offset = 0;
  std::int64_t cfa_added = 0;
  Where ra, bp;
};

// Of one program.
struct FrameCheckpoints {
  static constexpr std::size_t kMostRemembered = 2;

  // What all of them depend on.
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
    std::size_t remembered = 0;
    std::array<FrameState, kMostRemembered> states;
  };

  Owner owner;
  std::vector<Checkpoint> all;  // in the order of the program
};

// By the address of a program's first byte.
using LongPrograms = std::unordered_map<const char*, FrameCheckpoints>;

// Adds to `steps` what it took. REQUIRES: `function` covers `address`; `programs` are of the same
// file.
Rule rule_in(const FunctionEntry& function, FileAddress address, const RegisterNumbers& registers,
             LongPrograms& programs, std::uint64_t& steps);

// Visits the rules of all addresses in [begin, end), the same ones that rule_in() returns, or
// Cfa::Unknown where finding them would take too long. Adds to `steps` what it took. Returns false
// if `visit` did. REQUIRES: as above, of each of these addresses.
bool visit_rules_in(const FunctionEntry& function, FileAddress begin, FileAddress end,
                    const RegisterNumbers& registers, LongPrograms& programs, std::uint64_t& steps,
                    const RuleVisitor& visit);

}  // namespace ctprof
