// Decodes one x86-64 instruction: its length and its operands.
//
// It decodes the operands of all instructions in ordinary code of compilers and of hand-written
// vector code. The bytes may be hostile: nothing outside of them is read, and an unknown or
// truncated instruction has no result. Users interpret the few instructions that matter to them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ctprof {

struct X86Memory {
  static constexpr unsigned kNone = 255;
  unsigned base = kNone;
  unsigned index = kNone;
  unsigned scale = 1;
  bool is_rip_relative = false;  // relative to the next instruction
  std::int64_t displacement = 0;
};

struct X86Instruction {
  // The opcode alone, after 0F, after 0F 38, after 0F 3A, or coded by VEX, EVEX or XOP.
  enum class Map : std::uint8_t { OneByte, TwoByte, ThreeByte38, ThreeByte3A, Vector };

  std::size_t length = 0;
  Map map = Map::OneByte;
  std::uint8_t opcode = 0;
  bool is_64_bit = false;          // REX.W
  bool is_16_bit = false;          // 66
  bool has_short_address = false;  // 67
  bool uses_fs = false;
  bool has_modrm = false;
  unsigned reg = 0;  // ModRM.reg, or the register in the opcode
  unsigned rm = 0;   // the register of ModRM.rm, if `memory` is absent
  std::optional<X86Memory> memory;
  std::int64_t immediate = 0;
};

std::optional<X86Instruction> decode_x86_64(std::span<const std::uint8_t> bytes);

}  // namespace ctprof
