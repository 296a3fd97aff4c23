// The rule that leads from a frame to its caller's frame at one address: the call frame information
// of one instruction in 24 bytes.
//
//   the caller's sp = CFA = sp + cfa_offset, bp + cfa_offset, or a value stored there + cfa_added
//   the caller's ip = the value stored at CFA + ra_offset (x86-64: CFA - 8), or lr; on x86-64 rdi,
//                     where vfork(2) stores it
//   the caller's bp = the value stored at CFA + bp_offset, or bp unchanged
//
// Anything else that the format can express is Unknown: it is rare, and a stack with such a frame
// ends there and is marked as truncated.

#pragma once

#include <cstdint>
#include <functional>

namespace ctprof {

enum class Cfa : std::uint8_t {
  None,  // no call frame information covers the address
  Unknown,
  Sp,    // sp + offset
  Bp,    // bp + offset
  AtSp,  // the value stored at sp + offset, plus cfa_added
  AtBp,
};

// The location of a register of the caller.
enum class RegisterLocation : std::uint8_t {
  Unknown,
  Same,       // still in its register; for the return address: in lr, on x86-64 in rdi
  Undefined,  // the register has no value: for the return address, this is the thread's root
  AtCfa,      // stored at CFA + offset
  AtSp,
  AtBp,
  OnOtherStack,  // for the return address: the caller is on another stack
};

struct UnwindRule {
  std::uint64_t key = 0;  // the address that the rule is for; see RuleCache
  std::int32_t cfa_offset = 0;
  std::int32_t bp_offset = 0;
  std::int32_t ra_offset = 0;  // on AArch64, the distance may equal the frame size
  std::int16_t cfa_added = 0;
  Cfa cfa : 4 = Cfa::None;
  RegisterLocation ra : 4 = RegisterLocation::Unknown;
  RegisterLocation bp : 4 = RegisterLocation::Same;
  // A signal frame: the caller's ip is the interrupted instruction, not a return address.
  bool is_signal : 1 = false;
};
static_assert(sizeof(UnwindRule) == 24);

// Receives the rules of a file in address order: each applies from `start` to the next start. A
// later call for the same address replaces the earlier one. Returns false to stop the visit.
using RuleVisitor = std::function<bool(std::uint64_t start, const UnwindRule& rule)>;

// The DWARF numbers of the registers that rules use.
struct RegisterNumbers {
  std::uint64_t sp, bp, ra;
  bool has_link;       // an unsaved return address is in a register
  std::uint64_t link;  // the register that samples have in addition to sp and bp
};
inline constexpr RegisterNumbers kX86Registers{7, 6, 16, false, 5};
inline constexpr RegisterNumbers kArmRegisters{31, 29, 30, true, 30};

}  // namespace ctprof
