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
constexpr std::string_view kOne =
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
constexpr std::string_view kOneUpper =
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
constexpr std::string_view kTwo =
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
static_assert(kOne.size() + kOneUpper.size() == 256 && kTwo.size() == 256);

char shape_of(Map map, std::uint8_t opcode) {
  switch (map) {
    case Map::One: return opcode < kOne.size() ? kOne[opcode] : kOneUpper[opcode - kOne.size()];
    case Map::Two: return kTwo[opcode];
    case Map::ThreeA: return 'm';
    case Map::ThreeB: return 'B';
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

  std::optional<X86Instruction> run() {
    prefixes();
    opcode();
    const char shape = shape_of(out_.map, out_.opcode);
    if (shape == 'x') return std::nullopt;
    out_.has_modrm = has_modrm(shape);
    if (out_.has_modrm)
      modrm();
    else
      out_.reg = (out_.opcode & 7) | rex_.b;
    number(shape);
    out_.length = at_;
    return at_ <= bytes_.size() && at_ <= kLongest ? std::optional(out_) : std::nullopt;
  }

 private:
  static constexpr std::size_t kLongest = 15;

  // Reading beyond the end returns zeros, and is detected at the end.
  std::uint8_t peek() const { return at_ < bytes_.size() ? bytes_[at_] : 0; }
  std::uint8_t byte() {
    const std::uint8_t value = peek();
    ++at_;
    return value;
  }

  std::uint64_t unsigned_number(unsigned size) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
    return value;
  }

  std::int64_t signed_number(unsigned size) {
    const unsigned spare = 64 - 8 * size;
    return static_cast<std::int64_t>(unsigned_number(size) << spare) >> spare;
  }

  bool prefix(std::uint8_t value) {
    if (value == 0x64) out_.fs = true;
    if (value == 0x66) out_.narrow = true;
    return value == 0x64 || value == 0x65 || value == 0x66 || value == 0xF2 || value == 0xF3 ||
           value == 0x2E || value == 0x3E || value == 0x26 || value == 0x36 || value == 0xF0;
  }

  void prefixes() {
    while (at_ < kLongest && prefix(peek())) ++at_;
    if ((peek() & 0xF0) != 0x40) return;
    const std::uint8_t rex = byte();
    out_.wide = (rex & 8) != 0;
    rex_ = {(rex & 4u) << 1, (rex & 2u) << 2, (rex & 1u) << 3};
  }

  void opcode() {
    out_.opcode = byte();
    if (out_.opcode == 0xC4 || out_.opcode == 0xC5) return vector(out_.opcode == 0xC4);
    if (out_.opcode != 0x0F) return;
    out_.map = Map::Two;
    out_.opcode = byte();
    if (out_.opcode != 0x38 && out_.opcode != 0x3A) return;
    out_.map = out_.opcode == 0x38 ? Map::ThreeA : Map::ThreeB;
    out_.opcode = byte();
  }

  // For VEX only the length matters, and that a general register may be written.
  void vector(bool three_bytes) {
    const std::uint8_t first = byte();
    const unsigned map = three_bytes ? first & 31u : 1;
    if (three_bytes) {
      rex_ = {(~first & 0x80u) >> 4, (~first & 0x40u) >> 3, (~first & 0x20u) >> 2};
      byte();
    } else {
      rex_ = {(~first & 0x80u) >> 4, 0, 0};
    }
    out_.opcode = byte();
    out_.map = Map::Vector;
    vector_number_ = map == 3 || (map == 1 && shape_of(Map::Two, out_.opcode) == 'B');
    vector_bare_ = map == 1 && out_.opcode == 0x77;
  }

  void modrm() {
    if (vector_bare_) return;
    const std::uint8_t value = byte();
    const unsigned mode = value >> 6;
    out_.reg = ((value >> 3) & 7u) | rex_.r;
    out_.rm = (value & 7u) | rex_.b;
    if (mode == 3) return;
    X86Memory memory;
    if ((value & 7) == 4)
      scaled(mode, memory);
    else if ((value & 7) == 5 && mode == 0)
      memory.rip = true;
    else
      memory.base = out_.rm;
    const bool bare = mode == 0 && memory.base == X86Memory::kNone;
    if (mode == 1) memory.displacement = signed_number(1);
    if (mode == 2 || bare) memory.displacement = signed_number(4);
    out_.memory = memory;
  }

  void scaled(unsigned mode, X86Memory& memory) {
    const std::uint8_t value = byte();
    const unsigned index = ((value >> 3) & 7u) | rex_.x;
    if (index != 4) memory.index = index;
    memory.scale = 1u << (value >> 6);
    if ((value & 7) != 5 || mode != 0) memory.base = (value & 7u) | rex_.b;
  }

  void number(char shape) {
    const unsigned z = out_.narrow ? 2 : 4;
    const bool test = shape == 'g' && (out_.reg & 7) < 2;
    switch (shape) {
      case 'b':
      case 'B': out_.immediate = signed_number(1); break;
      case 'w': out_.immediate = signed_number(2); break;
      case 'z': out_.immediate = signed_number(branch() ? 4 : z); break;
      case 'Z': out_.immediate = signed_number(z); break;
      case 'v': out_.immediate = signed_number(out_.wide ? 8 : z); break;
      case 'a': out_.immediate = signed_number(8); break;
      case 'e': out_.immediate = signed_number(3); break;
      case 'g':
        if (test) out_.immediate = signed_number(out_.opcode == 0xF6 ? 1 : z);
        break;
      default: break;
    }
    if (vector_number_) byte();
  }

  bool branch() const { return out_.map == Map::Two || out_.opcode == 0xE8 || out_.opcode == 0xE9; }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  X86Instruction out_;
  Rex rex_;
  bool vector_number_ = false;
  bool vector_bare_ = false;
};

}  // namespace

std::optional<X86Instruction> decode_x86_64(std::span<const std::uint8_t> bytes) {
  return Decoder(bytes).run();
}

}  // namespace ctprof::jemalloc
