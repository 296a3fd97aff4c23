// The opcode maps are in Intel's manual, volume 2, appendix A.

#include "core/stacks/x86_code.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/elf/byte_cursor.hpp"

namespace ctprof {
namespace {

using Kind = X86Instruction::Kind;

constexpr std::size_t kLongestInstruction = 15;
constexpr std::uint8_t kRegisterSp = 4, kRegisterBp = 5, kHasSib = 4, kRegisterMode = 3;

// The operands after each opcode, one letter for each opcode, 16 in a row:
//   . nothing   m ModRM   b 1 byte   w 2 bytes   z 4 bytes, or 2 with an operand-size prefix
//   B ModRM and 1 byte   Z ModRM and 4 or 2 bytes   j 4 bytes   x not an instruction
constexpr std::string_view kOneByte =
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
    "xxxx....bz......"
    "bbbbbbbbzzzzzzzz"
    "BBw.xxBZx.w..bx."
    "mmmmxxx.mmmmmmmm"
    "bbbbbbbbjjxb...."
    "x.xx..mm......mm";
constexpr std::string_view kTwoBytes =
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
static_assert(kOneByte.size() == 256 && kTwoBytes.size() == 256);

enum class OpcodeMap : std::uint8_t { One, Two, Three38, Three3a };

class Decoder {
 public:
  explicit Decoder(std::string_view bytes)
      : cursor_(bytes.substr(0, std::min(bytes.size(), kLongestInstruction))) {}

  X86Instruction decode() {
    read_prefixes();
    read_operands();
    if (!cursor_.ok() || operand_form_ == 'x') return {};
    X86Instruction instruction;
    instruction.size = static_cast<std::uint8_t>(cursor_.position());
    instruction.kind = Kind::Other;
    if (is_vector_) return instruction;
    if (map_ == OpcodeMap::One) classify_one_byte(instruction);
    if (map_ == OpcodeMap::Two) classify_two_bytes(instruction);
    return instruction;
  }

 private:
  void read_prefixes() {
    std::uint8_t byte = next();
    constexpr std::string_view kLegacy = "\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65";
    while (cursor_.ok() && kLegacy.find(static_cast<char>(byte)) != kLegacy.npos) {
      has_small_operand_ |= byte == 0x66;
      has_small_address_ |= byte == 0x67;
      byte = next();
    }
    if ((byte & 0xf0) == 0x40) {
      rex_ = byte;
      byte = next();
    }
    if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) return read_vector_prefix(byte);
    if (byte == 0x0f) {
      map_ = OpcodeMap::Two;
      byte = next();
      if (byte == 0x38 || byte == 0x3a) {
        map_ = byte == 0x38 ? OpcodeMap::Three38 : OpcodeMap::Three3a;
        byte = next();
      }
    }
    opcode_ = byte;
  }

  // Reads a VEX prefix of two or three bytes, or EVEX.
  void read_vector_prefix(std::uint8_t first) {
    is_vector_ = true;
    std::uint8_t map = 1;
    if (first != 0xc5) map = next() & (first == 0xc4 ? 0x1f : 0x07);
    cursor_.skip(first == 0x62 ? 2 : 1);
    map_ = map == 1 ? OpcodeMap::Two : map == 3 ? OpcodeMap::Three3a : OpcodeMap::Three38;
    opcode_ = next();
  }

  void read_operands() {
    switch (map_) {
      case OpcodeMap::One: operand_form_ = kOneByte[opcode_]; break;
      case OpcodeMap::Two: operand_form_ = kTwoBytes[opcode_]; break;
      case OpcodeMap::Three38: operand_form_ = 'm'; break;
      case OpcodeMap::Three3a: operand_form_ = 'B'; break;
    }
    if (operand_form_ == 'm' || operand_form_ == 'B' || operand_form_ == 'Z') read_modrm();
    switch (operand_form_) {
      case 'b':
      case 'B': immediate_ = cursor_.get<std::int8_t>(); break;
      case 'w': immediate_ = cursor_.get<std::uint16_t>(); break;
      case 'j': immediate_ = cursor_.get<std::int32_t>(); break;
      case 'z':
      case 'Z': read_word(); break;
      default: break;
    }
    if (map_ == OpcodeMap::One && !is_vector_) read_special_operands();
  }
  void read_word() {
    immediate_ = has_small_operand_ ? cursor_.get<std::int16_t>() : cursor_.get<std::int32_t>();
  }

  // Reads operands that the letters do not express.
  void read_special_operands() {
    const bool is_wide_move = opcode_ >= 0xb8 && opcode_ <= 0xbf && (rex_ & 8) != 0;
    if (is_wide_move) cursor_.skip(4);
    if (opcode_ >= 0xa0 && opcode_ <= 0xa3) {
      operand_form_ = '.';
      cursor_.skip(has_small_address_ ? 4 : 8);
    }
    if (opcode_ == 0xc8) {
      operand_form_ = 'w';
      cursor_.skip(3);
    }
    if (opcode_ == 0xf6 && reg_low_ < 2) immediate_ = cursor_.get<std::int8_t>();
    if (opcode_ == 0xf7 && reg_low_ < 2) read_word();
  }

  void read_modrm() {
    const std::uint8_t modrm = next();
    mod_ = modrm >> 6;
    reg_low_ = (modrm >> 3) & 7;
    const std::uint8_t rm = modrm & 7;
    reg_ = reg_low_ | ((rex_ & 4) != 0 ? 8 : 0);
    rm_ = rm | ((rex_ & 1) != 0 ? 8 : 0);
    if (mod_ == kRegisterMode) return;
    std::uint8_t base = rm;
    if (rm == kHasSib) {
      const std::uint8_t sib = next();
      base = sib & 7;
      has_index_ = ((sib >> 3) & 7) != kRegisterSp || (rex_ & 2) != 0;
      rm_ = base | ((rex_ & 1) != 0 ? 8 : 0);
    }
    // There is no base register: the operand is absolute or relative to the next instruction.
    if (mod_ == 0 && base == kRegisterBp) rm_ = kNoRegister;
    if (mod_ == 1) displacement_ = cursor_.get<std::int8_t>();
    if (mod_ == 2 || (mod_ == 0 && base == kRegisterBp))
      displacement_ = cursor_.get<std::int32_t>();
  }

  std::uint8_t next() { return cursor_.get<std::uint8_t>(); }
  static void set_kind(X86Instruction& instruction, Kind kind, std::int64_t operand = 0) {
    instruction.kind = kind;
    instruction.operand = operand;
  }
  static void mark_register_write(X86Instruction& instruction, std::uint8_t target) {
    if (target == kRegisterSp) set_kind(instruction, Kind::ChangesSp);
    if (target == kRegisterBp) set_kind(instruction, Kind::ChangesBp);
  }
  // Return register operands; kNoRegister: the operand is in memory.
  std::uint8_t get_modrm_register() const { return mod_ == kRegisterMode ? rm_ : kNoRegister; }
  std::uint8_t get_opcode_register() const { return (opcode_ & 7) | ((rex_ & 1) != 0 ? 8 : 0); }

  void classify_one_byte(X86Instruction& instruction) const {
    if (opcode_ < 0x40) return classify_arithmetic(instruction);
    if (opcode_ >= 0x50 && opcode_ <= 0x5f) return classify_push_pop(instruction);
    if (opcode_ >= 0xb8 && opcode_ <= 0xbf)
      return mark_register_write(instruction, get_opcode_register());
    if (opcode_ >= 0x70 && opcode_ <= 0x7f) return set_kind(instruction, Kind::Branch, immediate_);
    switch (opcode_) {
      case 0x68:
      case 0x6a:
      case 0x9c: return set_kind(instruction, Kind::Push);
      case 0x9d: return set_kind(instruction, Kind::Pop);
      case 0x63:
      case 0x69:
      case 0x6b: return mark_register_write(instruction, reg_);
      case 0x81:
      case 0x83: return classify_immediate(instruction);
      case 0x87: return classify_exchange(instruction);
      case 0x89: return classify_move(instruction, get_modrm_register(), reg_);
      case 0x8b: return classify_move(instruction, reg_, get_modrm_register());
      case 0x8d: return classify_lea(instruction);
      case 0x8f: return set_kind(instruction, mod_ == kRegisterMode ? Kind::ChangesSp : Kind::Pop);
      case 0xc1:
      case 0xc7:
      case 0xd1:
      case 0xd3:
      case 0xf7: return mark_register_write(instruction, get_modrm_register());
      default: return classify_flow(instruction);
    }
  }

  void classify_flow(X86Instruction& instruction) const {
    switch (opcode_) {
      case 0xc2:
      case 0xc3:
      case 0xca:
      case 0xcb:
      case 0xcf: return set_kind(instruction, Kind::Return);
      case 0xc8: return set_kind(instruction, Kind::ChangesSp);
      case 0xc9: return set_kind(instruction, Kind::Leave);
      case 0xcc:
      case 0xf4: return set_kind(instruction, Kind::Trap);
      case 0xe0:
      case 0xe1:
      case 0xe2:
      case 0xe3: return set_kind(instruction, Kind::Branch, immediate_);
      case 0xe8: return set_kind(instruction, Kind::Call);
      case 0xe9:
      case 0xeb: return set_kind(instruction, Kind::Jump, immediate_);
      case 0xff: return classify_indirect(instruction);
      default: return;
    }
  }

  void classify_two_bytes(X86Instruction& instruction) const {
    if (opcode_ >= 0x80 && opcode_ <= 0x8f) return set_kind(instruction, Kind::Branch, immediate_);
    if (opcode_ == 0x0b) return set_kind(instruction, Kind::Trap);
    if (opcode_ == 0xa0 || opcode_ == 0xa8) return set_kind(instruction, Kind::Push);
    if (opcode_ == 0xa1 || opcode_ == 0xa9) return set_kind(instruction, Kind::Pop);
    constexpr std::array<std::uint8_t, 8> kToRegister{0xaf, 0xb6, 0xb7, 0xb8,
                                                      0xbc, 0xbd, 0xbe, 0xbf};
    const bool is_conditional_move = opcode_ >= 0x40 && opcode_ <= 0x4f;
    if (is_conditional_move || std::ranges::count(kToRegister, opcode_) > 0)
      mark_register_write(instruction, reg_);
  }

  // The eight operations have the same forms; the last one compares. One-byte operands cannot
  // change sp as a whole.
  void classify_arithmetic(X86Instruction& instruction) const {
    const std::uint8_t form = opcode_ & 7;
    constexpr std::uint8_t kCompare = 7;
    if (opcode_ >> 3 == kCompare || (form != 1 && form != 3)) return;
    mark_register_write(instruction, form == 1 ? get_modrm_register() : reg_);
  }

  void classify_push_pop(X86Instruction& instruction) const {
    const std::uint8_t target = get_opcode_register();
    if (opcode_ < 0x58)
      return set_kind(instruction, target == kRegisterBp ? Kind::PushBp : Kind::Push);
    if (target == kRegisterSp) return set_kind(instruction, Kind::ChangesSp);
    set_kind(instruction, target == kRegisterBp ? Kind::PopBp : Kind::Pop);
  }

  void classify_immediate(X86Instruction& instruction) const {
    constexpr std::uint8_t kAdd = 0, kSubtract = 5, kCompare = 7;
    if (reg_low_ == kCompare) return;
    mark_register_write(instruction, get_modrm_register());
    if (get_modrm_register() != kRegisterSp || (rex_ & 8) == 0) return;
    if (reg_low_ == kAdd) set_kind(instruction, Kind::AddSp, immediate_);
    if (reg_low_ == kSubtract) set_kind(instruction, Kind::AddSp, -immediate_);
  }

  void classify_exchange(X86Instruction& instruction) const {
    mark_register_write(instruction, reg_);
    if (instruction.kind != Kind::ChangesSp) mark_register_write(instruction, get_modrm_register());
  }

  void classify_move(X86Instruction& instruction, std::uint8_t target, std::uint8_t source) const {
    mark_register_write(instruction, target);
    if (target == kRegisterSp && source == kRegisterBp) set_kind(instruction, Kind::SpFromBp);
    if (target == kRegisterBp && source == kRegisterSp) set_kind(instruction, Kind::BpFromSp);
  }

  void classify_lea(X86Instruction& instruction) const {
    mark_register_write(instruction, reg_);
    if (has_index_ || mod_ == kRegisterMode) return;
    if (reg_ == kRegisterSp && rm_ == kRegisterSp)
      set_kind(instruction, Kind::AddSp, displacement_);
    if (reg_ == kRegisterSp && rm_ == kRegisterBp)
      set_kind(instruction, Kind::SpFromBp, displacement_);
    if (reg_ == kRegisterBp && rm_ == kRegisterSp)
      set_kind(instruction, Kind::BpFromSp, displacement_);
  }

  void classify_indirect(X86Instruction& instruction) const {
    switch (reg_low_) {
      case 2:
      case 3: return set_kind(instruction, Kind::Call);
      case 4:
      case 5: return set_kind(instruction, Kind::IndirectJump);
      case 6: return set_kind(instruction, Kind::Push);
      default: return mark_register_write(instruction, get_modrm_register());
    }
  }

  static constexpr std::uint8_t kNoRegister = 16;

  ByteCursor cursor_;
  OpcodeMap map_ = OpcodeMap::One;
  bool is_vector_ = false, has_small_operand_ = false, has_small_address_ = false;
  bool has_index_ = false;
  std::uint8_t rex_ = 0, opcode_ = 0;
  std::uint8_t mod_ = 0, reg_low_ = 0, reg_ = kNoRegister, rm_ = kNoRegister;
  char operand_form_ = '.';
  std::int64_t immediate_ = 0, displacement_ = 0;
};

}  // namespace

X86Instruction decode_x86(std::string_view bytes) { return Decoder(bytes).decode(); }

// Near calls have two to seven bytes, or eight with a prefix.
bool ends_with_x86_call(std::string_view bytes) {
  for (std::size_t size = 2; size <= std::min<std::size_t>(bytes.size(), 8); ++size) {
    const X86Instruction last = decode_x86(bytes.substr(bytes.size() - size));
    if (last.kind == Kind::Call && last.size == size) return true;
  }
  return false;
}

}  // namespace ctprof
