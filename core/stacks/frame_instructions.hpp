// The instructions of call frame information (DWARF 5, section 6.4.2, and extensions of GNU and
// AArch64).

#pragma once

#include <cstdint>

namespace ctprof::call_frame {

// The first three have an operand in the lower six bits.
enum Instruction : std::uint8_t {
  kAdvance = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
  kNothing = 0x00,
  kSetLocation,
  kAdvance1,
  kAdvance2,
  kAdvance4,
  kOffsetExtended,
  kRestoreExtended,
  kUndefined,
  kSameValue,
  kRegister,
  kRememberState,
  kRestoreState,
  kDefCfa,
  kDefCfaRegister,
  kDefCfaOffset,
  kDefCfaExpression,
  kExpression,
  kOffsetExtendedSigned,
  kDefCfaSigned,
  kDefCfaOffsetSigned,
  kValOffset,
  kValOffsetSigned,
  kValExpression,
  kNegateSignedAddressWithPc = 0x2c,  // AArch64: toggles the signing of return addresses
  kNegateSignedAddress = 0x2d,        // AArch64; on SPARC, a register window
  kArgsSize = 0x2e,
  kNegativeOffsetExtended = 0x2f,
};

}  // namespace ctprof::call_frame
