// How to get from a frame to its caller's, by the address that runs in it: what call frame
// information says of one instruction, in 24 bytes.
//
//   the caller's sp = CFA = sp + cfa_offset, bp + cfa_offset, or what is stored there + cfa_added
//   the caller's ip = what is stored at CFA + ra_offset (x86-64: CFA - 8), or lr; on x86-64 rdi,
//   where vfork(2) keeps it
//   the caller's bp = what is stored at CFA + bp_offset, or bp as it is
//
// Anything else that the format can express is Unknown: it hardly occurs, and a stack that meets it
// ends there, and says so.

#pragma once

#include <cstdint>
#include <functional>

namespace ctprof {

enum class Cfa : std::uint8_t {
  None,  // no call frame information covers the address
  Unknown,
  Sp,    // sp + offset
  Bp,    // bp + offset
  AtSp,  // what is stored at sp + offset, and something added
  AtBp,
};

// Where a register of the caller is.
enum class Saved : std::uint8_t {
  Unknown,
  Same,     // in its register still; for the return address: in lr, on x86-64 in rdi
  Nowhere,  // the register has no value: for the return address, this is the thread's root
  AtCfa,    // stored at CFA + offset
  AtSp,
  AtBp,
  Elsewhere,  // for the return address: the caller is on another stack
};

struct Rule {
  std::uint64_t key = 0;  // which address it is for; see RuleCache
  std::int32_t cfa_offset = 0;
  std::int32_t bp_offset = 0;
  std::int32_t ra_offset = 0;  // on arm64 as far away as the frame is large
  std::int16_t cfa_added = 0;
  Cfa cfa : 4 = Cfa::None;
  Saved ra : 4 = Saved::Unknown;
  Saved bp : 4 = Saved::Same;
  // A signal's: the caller's ip is where it was interrupted, not a return.
  bool is_signal : 1 = false;
};
static_assert(sizeof(Rule) == 24);

// Receives the rules of a file in the order of their addresses: this one applies from `start` on,
// until the next. A later call for the same address replaces the earlier one. Returns false to
// stop.
using RuleVisitor = std::function<bool(std::uint64_t start, const Rule& rule)>;

// How the format numbers the registers that rules speak of.
struct RegisterNumbers {
  std::uint64_t sp, bp, ra;
  bool has_link;       // an unsaved return address is in a register
  std::uint64_t link;  // the register beside sp and bp that samples have
};
inline constexpr RegisterNumbers kX86Registers{7, 6, 16, false, 5};
inline constexpr RegisterNumbers kArmRegisters{31, 29, 30, true, 30};

}  // namespace ctprof
