#include "plugins/jemalloc-ptrace/finder/x86_decode.hpp"

#include <string_view>

namespace ctprof::jemalloc {
namespace {

using Map = X86Instruction::Map;

// The operands of each opcode, as a letter at the opcode's index:
//   .  none                          m  ModRM
//   b  8-bit number                  w  16-bit number
//   z  32-bit number (16 after 66)   v  64-bit number with REX.W, otherwise as z
//   a  64-bit address                e  16-bit and 8-bit number
//   g  ModRM, and a number if its field reg is 0 or 1 (TEST)
//   x  unknown
// A capital letter is ModRM and the number of the small letter.
constexpr std::string_view kOneByteShapes =
    "mmmmbzxx"
    "mmmmbzxx"
    "mmmmbzxx"
    "mmmmbzxx"
    "mmmmbzxx"
    "mmmmbzxx"
    "mmmmbzxx"
    "mmmmbzxx"  // 00
    "xxxxxxxx"
    "xxxxxxxx"
    "........"
    "........"
    "xxxmxxxx"
    "zZbB....";  // 40
constexpr std::string_view kOneByteShapesUpper =
    "bbbbbbbb"
    "bbbbbbbb"
    "BZxBmmmm"
    "mmmmmmmm"  // 70
    "........"
    "..x....."
    "aaaa...."
    "bz......"  // 90
    "bbbbbbbb"
    "vvvvvvvv"
    "BBw.xxBZ"
    "e.w..bx."  // B0
    "mmmmxxxx"
    "mmmmmmmm"
    "bbbbbbbb"
    "zzxb...."  // D0
    "x.xx..gg"
    "......mm";  // F0
constexpr std::string_view kTwoByteShapes =
    "mmmmx..."
    "..x.xm.x"
    "mmmmmmmm"
    "mmmmmmmm"  // 00
    "mmmmxxxx"
    "mmmmmmmm"
    "......x."
    "xxxxxxxx"  // 20
    "mmmmmmmm"
    "mmmmmmmm"
    "mmmmmmmm"
    "mmmmmmmm"  // 40
    "mmmmmmmm"
    "mmmmmmmm"
    "BBBBmmm."
    "mmxxmmmm"  // 60
    "zzzzzzzz"
    "zzzzzzzz"
    "mmmmmmmm"
    "mmmmmmmm"  // 80
    "...mBmxx"
    "...mBmmm"
    "mmmmmmmm"
    "mmBmmmmm"  // A0
    "mmBmBBBm"
    "........"
    "mmmmmmmm"
    "mmmmmmmm"  // C0
    "mmmmmmmm"
    "mmmmmmmm"
    "mmmmmmmm"
    "mmmmmmmm";  // E0
static_assert(kOneByteShapes.size() + kOneByteShapesUpper.size() == 256 &&
              kTwoByteShapes.size() == 256);

char find_shape(Map map, std::uint8_t opcode) {
  switch (map) {
    case Map::OneByte:
      return opcode < kOneByteShapes.size() ? kOneByteShapes[opcode]
                                            : kOneByteShapesUpper[opcode - kOneByteShapes.size()];
    case Map::TwoByte: return kTwoByteShapes[opcode];
    case Map::ThreeByte38: return 'm';
    case Map::ThreeByte3A: return 'B';
    case Map::Vector: return 'm';
  }
  return 'x';
}

bool has_modrm(char shape) {
  return shape == 'm' || shape == 'g' || (shape >= 'A' && shape <= 'Z');
}

struct Rex {
  unsigned r = 0;
  unsigned x = 0;
  unsigned b = 0;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::optional<X86Instruction> decode() {
    read_prefixes();
    read_opcode();
    const char shape = find_shape(instruction_.map, instruction_.opcode);
    if (shape == 'x') return std::nullopt;
    instruction_.has_modrm = has_modrm(shape);
    if (instruction_.has_modrm)
      read_modrm();
    else
      instruction_.reg = (instruction_.opcode & 7) | rex_.b;
    read_immediate(shape);
    instruction_.length = offset_;
    return offset_ <= bytes_.size() && offset_ <= kMaxLength ? std::optional(instruction_)
                                                             : std::nullopt;
  }

 private:
  static constexpr std::size_t kMaxLength = 15;

  // Reading beyond the end returns zeros, and is detected at the end.
  std::uint8_t peek() const { return offset_ < bytes_.size() ? bytes_[offset_] : 0; }
  std::uint8_t read_byte() {
    const std::uint8_t value = peek();
    ++offset_;
    return value;
  }

  std::uint64_t read_unsigned(unsigned size) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(read_byte()) << (8 * i);
    return value;
  }

  std::int64_t read_signed(unsigned size) {
    const unsigned spare = 64 - 8 * size;
    return static_cast<std::int64_t>(read_unsigned(size) << spare) >> spare;
  }

  bool read_prefix(std::uint8_t value) {
    if (value == 0x64) instruction_.uses_fs = true;
    if (value == 0x66) instruction_.is_16_bit = true;
    return value == 0x64 || value == 0x65 || value == 0x66 || value == 0xF2 || value == 0xF3 ||
           value == 0x2E || value == 0x3E || value == 0x26 || value == 0x36 || value == 0xF0;
  }

  void read_prefixes() {
    while (offset_ < kMaxLength && read_prefix(peek())) ++offset_;
    if ((peek() & 0xF0) != 0x40) return;
    const std::uint8_t rex = read_byte();
    instruction_.is_64_bit = (rex & 8) != 0;
    rex_ = {(rex & 4u) << 1, (rex & 2u) << 2, (rex & 1u) << 3};
  }

  void read_opcode() {
    instruction_.opcode = read_byte();
    if (instruction_.opcode == 0xC4 || instruction_.opcode == 0xC5)
      return read_vector_opcode(instruction_.opcode == 0xC4);
    if (instruction_.opcode != 0x0F) return;
    instruction_.map = Map::TwoByte;
    instruction_.opcode = read_byte();
    if (instruction_.opcode != 0x38 && instruction_.opcode != 0x3A) return;
    instruction_.map = instruction_.opcode == 0x38 ? Map::ThreeByte38 : Map::ThreeByte3A;
    instruction_.opcode = read_byte();
  }

  // For VEX only the length matters, and that a general register may be written.
  void read_vector_opcode(bool three_bytes) {
    const std::uint8_t first = read_byte();
    const unsigned map = three_bytes ? first & 31u : 1;
    if (three_bytes) {
      rex_ = {(~first & 0x80u) >> 4, (~first & 0x40u) >> 3, (~first & 0x20u) >> 2};
      read_byte();
    } else {
      rex_ = {(~first & 0x80u) >> 4, 0, 0};
    }
    instruction_.opcode = read_byte();
    instruction_.map = Map::Vector;
    vector_has_immediate_ =
        map == 3 || (map == 1 && find_shape(Map::TwoByte, instruction_.opcode) == 'B');
    vector_lacks_modrm_ = map == 1 && instruction_.opcode == 0x77;
  }

  void read_modrm() {
    if (vector_lacks_modrm_) return;
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

  void read_immediate(char shape) {
    const unsigned z = instruction_.is_16_bit ? 2 : 4;
    const bool test = shape == 'g' && (instruction_.reg & 7) < 2;
    switch (shape) {
      case 'b':
      case 'B': instruction_.immediate = read_signed(1); break;
      case 'w': instruction_.immediate = read_signed(2); break;
      case 'z': instruction_.immediate = read_signed(is_branch() ? 4 : z); break;
      case 'Z': instruction_.immediate = read_signed(z); break;
      case 'v': instruction_.immediate = read_signed(instruction_.is_64_bit ? 8 : z); break;
      case 'a': instruction_.immediate = read_signed(8); break;
      case 'e': instruction_.immediate = read_signed(3); break;
      case 'g':
        if (test) instruction_.immediate = read_signed(instruction_.opcode == 0xF6 ? 1 : z);
        break;
      default: break;
    }
    if (vector_has_immediate_) read_byte();
  }

  bool is_branch() const {
    return instruction_.map == Map::TwoByte || instruction_.opcode == 0xE8 ||
           instruction_.opcode == 0xE9;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t offset_ = 0;
  X86Instruction instruction_;
  Rex rex_;
  bool vector_has_immediate_ = false;
  bool vector_lacks_modrm_ = false;
};

}  // namespace

std::optional<X86Instruction> decode_x86_64(std::span<const std::uint8_t> bytes) {
  return Decoder(bytes).decode();
}

}  // namespace ctprof::jemalloc
