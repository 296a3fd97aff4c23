// Decodes x86-64 instructions as far as unwinding needs it: their length, and what they do to the
// stack pointer, the frame pointer and the flow of control.
//
// The bytes may be hostile: nothing outside of them is read, and an instruction that is not known
// or is cut short is Invalid.

#pragma once

#include <cstdint>
#include <string_view>

namespace ctprof {

struct X86Instruction {
  enum class Kind : std::uint8_t {
    Invalid,
    Other,  // changes neither sp nor bp, and the next instruction follows
    Push,
    PushBp,
    Pop,
    PopBp,
    AddSp,      // sp += operand
    SpFromBp,   // sp = bp + operand
    BpFromSp,   // bp = sp + operand
    ChangesSp,  // in a way that is not followed
    ChangesBp,
    Leave,
    Return,
    Call,
    Jump,          // to operand, counted from the next instruction
    Branch,        // the same, or to the next instruction
    IndirectJump,  // also to another code segment
    Trap,          // never goes on: hlt, ud2, int3
  };

  Kind kind = Kind::Invalid;
  std::uint8_t size = 0;  // bytes; 0: Invalid
  std::int64_t operand = 0;
};

// The instruction with which the bytes begin.
X86Instruction decode_x86(std::string_view bytes);

// Whether the bytes end with a call, whose return address is behind them.
bool ends_with_x86_call(std::string_view bytes);

}  // namespace ctprof
