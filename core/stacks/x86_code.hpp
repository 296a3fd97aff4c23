// Determines the effect of x86-64 instructions on the stack pointer, the frame pointer and the flow
// of control. core/x86 decodes them.
//
// The bytes may be hostile: nothing outside of them is read, and an unknown or truncated
// instruction is Invalid.

#pragma once

#include <cstdint>
#include <string_view>

namespace ctprof {

struct StackInstruction {
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
    ChangesSp,  // in an unsupported way
    ChangesBp,
    Leave,
    Return,
    Call,
    Jump,          // to operand, relative to the next instruction
    Branch,        // conditional: to operand or to the next instruction
    IndirectJump,  // also to another code segment
    Trap,          // execution does not continue: hlt, ud2, int3
  };

  Kind kind = Kind::Invalid;
  std::uint8_t size = 0;  // bytes; 0: Invalid
  std::int64_t operand = 0;
};

// Decodes the instruction at the start of the bytes.
StackInstruction decode_x86(std::string_view bytes);

// Returns whether the bytes end with a call, so that its return address follows them.
bool ends_with_x86_call(std::string_view bytes);

}  // namespace ctprof
