// The opcode maps are in Intel's manual, volume 2, appendix A.

#include "core/x86/x86_decoder.hpp"

#include <algorithm>
#include <string_view>

namespace ctprof {
namespace {

using Map = X86Instruction::Map;

// The operands of each opcode, as a letter at the opcode's index:
//   .  none                          m  ModRM
//   b  8-bit number                  w  16-bit number
//   z  32-bit number (16 after 66)   v  64-bit number with REX.W, otherwise as z
//   a  64-bit address (32 after 67)  e  16-bit and 8-bit number
//   j  32-bit distance               x  unknown
//   g  ModRM, and an 8-bit number if its field reg is 0 or 1 (TEST)
//   h  the same with a number as for z
// A capital letter is ModRM and the number of the small letter.
constexpr std::string_view kOneByteShapes =
    "mmmmbzxxmmmmbzxx"
    "mmmmbzxxmmmmbzxx"
    "mmmmbzxxmmmmbzxx"
    "mmmmbzxxmmmmbzxx"
    "xxxxxxxxxxxxxxxx"
    "................"
    "xxxmxxxxzZbB...."
    "bbbbbbbbbbbbbbbb"
    "BZxBmmmmmmmmmmmm"
    "..........x....."
    "aaaa....bz......"
    "bbbbbbbbvvvvvvvv"
    "BBw.xxBZe.w..bx."
    "mmmmxxx.mmmmmmmm"
    "bbbbbbbbjjxb...."
    "x.xx..gh......mm";
constexpr std::string_view kTwoByteShapes =
    "mmmmx.....x.xm.B"
    "mmmmmmmmmmmmmmmm"
    "mmmmxxxxmmmmmmmm"
    "........xxxxxxxx"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "BBBBmmm.mmmmmmmm"
    "jjjjjjjjjjjjjjjj"
    "mmmmmmmmmmmmmmmm"
    "...mBmxx...mBmmm"
    "mmmmmmmmmmBmmmmm"
    "mmBmBBBm........"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm";
static_assert(kOneByteShapes.size() == 256 && kTwoByteShapes.size() == 256);

constexpr std::size_t kLongestInstruction = 15;

char find_shape(Map map, std::uint8_t opcode) {
  switch (map) {
    case Map::OneByte: return kOneByteShapes[opcode];
    case Map::TwoByte: return kTwoByteShapes[opcode];
    case Map::ThreeByte3A: return 'B';
    case Map::ThreeByte38:
    case Map::Vector: break;
  }
  return 'm';
}

bool is_shape_with_modrm(char shape) {
  return shape == 'm' || shape == 'g' || shape == 'h' || (shape >= 'A' && shape <= 'Z');
}

struct Rex {
  unsigned r = 0;
  unsigned x = 0;
  unsigned b = 0;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> bytes)
      : bytes_(bytes.first(std::min(bytes.size(), kLongestInstruction))) {}

  std::optional<X86Instruction> decode() {
    read_prefixes();
    const Map map = read_opcode();
    const char shape = find_shape(map, instruction_.opcode);
    if (shape == 'x') return std::nullopt;
    instruction_.has_modrm = is_shape_with_modrm(shape);
    if (instruction_.has_modrm)
      read_modrm();
    else
      instruction_.reg = (instruction_.opcode & 7) | rex_.b;
    instruction_.immediate = read_signed(get_immediate_size(shape));
    instruction_.length = offset_;
    return offset_ <= bytes_.size() ? std::optional(instruction_) : std::nullopt;
  }

 private:
  // Reading beyond the end returns zeros, and is detected at the end.
  std::uint8_t peek() const { return offset_ < bytes_.size() ? bytes_[offset_] : 0; }
  std::uint8_t read_byte() {
    const std::uint8_t value = peek();
    ++offset_;
    return value;
  }

  std::int64_t read_signed(unsigned size) {
    if (size == 0) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(read_byte()) << (8 * i);
    const unsigned spare = 64 - 8 * size;
    return static_cast<std::int64_t>(value << spare) >> spare;
  }

  bool take_prefix(std::uint8_t value) {
    switch (value) {
      case 0x64: return instruction_.uses_fs = true;
      case 0x66: return instruction_.is_16_bit = true;
      case 0x67: return instruction_.has_short_address = true;
      case 0x26:
      case 0x2E:
      case 0x36:
      case 0x3E:
      case 0x65:
      case 0xF0:
      case 0xF2:
      case 0xF3: return true;
      default: return false;
    }
  }

  void read_prefixes() {
    while (offset_ < bytes_.size() && take_prefix(peek())) ++offset_;
    if ((peek() & 0xF0) != 0x40) return;
    const std::uint8_t rex = read_byte();
    instruction_.is_64_bit = (rex & 8) != 0;
    rex_ = {(rex & 4u) << 1, (rex & 2u) << 2, (rex & 1u) << 3};
  }

  // Returns the map that determines the operands.
  Map read_opcode() {
    instruction_.opcode = read_byte();
    const bool is_xop = instruction_.opcode == 0x8F && (peek() & 0x1E) == 8;  // map 8 or 9
    if (instruction_.opcode == 0xC4 || instruction_.opcode == 0xC5 || instruction_.opcode == 0x62 ||
        is_xop)
      return read_vector_opcode(instruction_.opcode);
    if (instruction_.opcode == 0x0F) {
      instruction_.map = Map::TwoByte;
      instruction_.opcode = read_byte();
      if (instruction_.opcode == 0x38 || instruction_.opcode == 0x3A) {
        instruction_.map = instruction_.opcode == 0x38 ? Map::ThreeByte38 : Map::ThreeByte3A;
        instruction_.opcode = read_byte();
      }
    }
    return instruction_.map;
  }

  // Reads a VEX prefix of two (C5) or three bytes (C4), XOP (8F), or EVEX (62). Only the length
  // matters, and that a general register may be written.
  Map read_vector_opcode(std::uint8_t prefix) {
    const std::uint8_t first = read_byte();
    unsigned map = 1;
    rex_ = {(~first & 0x80u) >> 4, 0, 0};
    if (prefix != 0xC5) {
      map = first & (prefix == 0x62 ? 7u : 31u);
      rex_.x = (~first & 0x40u) >> 3;
      rex_.b = (~first & 0x20u) >> 2;
      offset_ += prefix == 0x62 ? 2 : 1;
    }
    instruction_.opcode = read_byte();
    instruction_.map = Map::Vector;
    if (map == 1) return Map::TwoByte;
    return map == 3 || map == 8 ? Map::ThreeByte3A : Map::ThreeByte38;
  }

  void read_modrm() {
    const std::uint8_t value = read_byte();
    const unsigned mode = value >> 6;
    instruction_.reg = ((value >> 3) & 7u) | rex_.r;
    instruction_.rm = (value & 7u) | rex_.b;
    if (mode == 3) return;
    X86Memory memory;
    if ((value & 7) == 4)
      read_scaled_index(mode, memory);
    else if ((value & 7) == 5 && mode == 0)
      memory.is_rip_relative = true;
    else
      memory.base = instruction_.rm;
    const bool has_no_base = mode == 0 && memory.base == X86Memory::kNone;
    if (mode == 1) memory.displacement = read_signed(1);
    if (mode == 2 || has_no_base) memory.displacement = read_signed(4);
    instruction_.memory = memory;
  }

  void read_scaled_index(unsigned mode, X86Memory& memory) {
    const std::uint8_t value = read_byte();
    const unsigned index = ((value >> 3) & 7u) | rex_.x;
    if (index != 4) memory.index = index;
    memory.scale = 1u << (value >> 6);
    if ((value & 7) != 5 || mode != 0) memory.base = (value & 7u) | rex_.b;
  }

  unsigned get_immediate_size(char shape) const {
    const unsigned z = instruction_.is_16_bit ? 2 : 4;
    const bool is_test = (instruction_.reg & 7) < 2;
    switch (shape) {
      case 'b':
      case 'B': return 1;
      case 'w': return 2;
      case 'e': return 3;
      case 'j': return 4;
      case 'z':
      case 'Z': return z;
      case 'v': return instruction_.is_64_bit ? 8 : z;
      case 'a': return instruction_.has_short_address ? 4 : 8;
      case 'g': return is_test ? 1 : 0;
      case 'h': return is_test ? z : 0;
      default: return 0;
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t offset_ = 0;
  X86Instruction instruction_;
  Rex rex_;
};

}  // namespace

std::optional<X86Instruction> decode_x86_64(std::span<const std::uint8_t> bytes) {
  return Decoder(bytes).decode();
}

}  // namespace ctprof
