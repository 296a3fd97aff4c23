#include "core/stacks/x86_code.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "core/x86/x86_decoder.hpp"

namespace ctprof {
namespace {

using Kind = StackInstruction::Kind;

constexpr unsigned kRegisterSp = 4, kRegisterBp = 5, kNoRegister = X86Memory::kNone;

// Determines the effect of an instruction.
class Classifier {
 public:
  explicit Classifier(const X86Instruction& decoded)
      : decoded_(decoded), opcode_(decoded.opcode), operation_(decoded.reg & 7) {}

  StackInstruction classify() const {
    StackInstruction instruction;
    instruction.size = static_cast<std::uint8_t>(decoded_.length);
    instruction.kind = Kind::Other;
    if (decoded_.map == X86Instruction::Map::OneByte) classify_one_byte(instruction);
    if (decoded_.map == X86Instruction::Map::TwoByte) classify_two_bytes(instruction);
    return instruction;
  }

 private:
  static void set_kind(StackInstruction& instruction, Kind kind, std::int64_t operand = 0) {
    instruction.kind = kind;
    instruction.operand = operand;
  }
  static void mark_register_write(StackInstruction& instruction, unsigned target) {
    if (target == kRegisterSp) set_kind(instruction, Kind::ChangesSp);
    if (target == kRegisterBp) set_kind(instruction, Kind::ChangesBp);
  }
  // Returns the register operand; kNoRegister: the operand is in memory.
  unsigned get_modrm_register() const { return decoded_.memory ? kNoRegister : decoded_.rm; }

  void classify_one_byte(StackInstruction& instruction) const {
    if (opcode_ < 0x40) return classify_arithmetic(instruction);
    if (opcode_ >= 0x50 && opcode_ <= 0x5f) return classify_push_pop(instruction);
    if (opcode_ >= 0xb8 && opcode_ <= 0xbf) return mark_register_write(instruction, decoded_.reg);
    if (opcode_ >= 0x70 && opcode_ <= 0x7f)
      return set_kind(instruction, Kind::Branch, decoded_.immediate);
    switch (opcode_) {
      case 0x68:
      case 0x6a:
      case 0x9c: return set_kind(instruction, Kind::Push);
      case 0x9d: return set_kind(instruction, Kind::Pop);
      case 0x63:
      case 0x69:
      case 0x6b: return mark_register_write(instruction, decoded_.reg);
      case 0x81:
      case 0x83: return classify_immediate(instruction);
      case 0x87: return classify_exchange(instruction);
      case 0x89: return classify_move(instruction, get_modrm_register(), decoded_.reg);
      case 0x8b: return classify_move(instruction, decoded_.reg, get_modrm_register());
      case 0x8d: return classify_lea(instruction);
      case 0x8f: return set_kind(instruction, !decoded_.memory ? Kind::ChangesSp : Kind::Pop);
      case 0xc1:
      case 0xc7:
      case 0xd1:
      case 0xd3:
      case 0xf7: return mark_register_write(instruction, get_modrm_register());
      default: return classify_flow(instruction);
    }
  }

  void classify_flow(StackInstruction& instruction) const {
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
      case 0xe3: return set_kind(instruction, Kind::Branch, decoded_.immediate);
      case 0xe8: return set_kind(instruction, Kind::Call);
      case 0xe9:
      case 0xeb: return set_kind(instruction, Kind::Jump, decoded_.immediate);
      case 0xff: return classify_indirect(instruction);
      default: return;
    }
  }

  void classify_two_bytes(StackInstruction& instruction) const {
    if (opcode_ >= 0x80 && opcode_ <= 0x8f)
      return set_kind(instruction, Kind::Branch, decoded_.immediate);
    if (opcode_ == 0x0b) return set_kind(instruction, Kind::Trap);
    if (opcode_ == 0xa0 || opcode_ == 0xa8) return set_kind(instruction, Kind::Push);
    if (opcode_ == 0xa1 || opcode_ == 0xa9) return set_kind(instruction, Kind::Pop);
    constexpr std::array<std::uint8_t, 8> kToRegister{0xaf, 0xb6, 0xb7, 0xb8,
                                                      0xbc, 0xbd, 0xbe, 0xbf};
    const bool is_conditional_move = opcode_ >= 0x40 && opcode_ <= 0x4f;
    if (is_conditional_move || std::ranges::count(kToRegister, opcode_) > 0)
      mark_register_write(instruction, decoded_.reg);
  }

  // The eight operations have the same forms; the last one compares. One-byte operands cannot
  // change sp as a whole.
  void classify_arithmetic(StackInstruction& instruction) const {
    const std::uint8_t form = opcode_ & 7;
    constexpr std::uint8_t kCompare = 7;
    if (opcode_ >> 3 == kCompare || (form != 1 && form != 3)) return;
    mark_register_write(instruction, form == 1 ? get_modrm_register() : decoded_.reg);
  }

  void classify_push_pop(StackInstruction& instruction) const {
    const unsigned target = decoded_.reg;
    if (opcode_ < 0x58)
      return set_kind(instruction, target == kRegisterBp ? Kind::PushBp : Kind::Push);
    if (target == kRegisterSp) return set_kind(instruction, Kind::ChangesSp);
    set_kind(instruction, target == kRegisterBp ? Kind::PopBp : Kind::Pop);
  }

  void classify_immediate(StackInstruction& instruction) const {
    constexpr std::uint8_t kAdd = 0, kSubtract = 5, kCompare = 7;
    if (operation_ == kCompare) return;
    mark_register_write(instruction, get_modrm_register());
    if (get_modrm_register() != kRegisterSp || !decoded_.is_64_bit) return;
    if (operation_ == kAdd) set_kind(instruction, Kind::AddSp, decoded_.immediate);
    if (operation_ == kSubtract) set_kind(instruction, Kind::AddSp, -decoded_.immediate);
  }

  void classify_exchange(StackInstruction& instruction) const {
    mark_register_write(instruction, decoded_.reg);
    if (instruction.kind != Kind::ChangesSp) mark_register_write(instruction, get_modrm_register());
  }

  void classify_move(StackInstruction& instruction, unsigned target, unsigned source) const {
    mark_register_write(instruction, target);
    if (target == kRegisterSp && source == kRegisterBp) set_kind(instruction, Kind::SpFromBp);
    if (target == kRegisterBp && source == kRegisterSp) set_kind(instruction, Kind::BpFromSp);
  }

  void classify_lea(StackInstruction& instruction) const {
    const auto& memory = decoded_.memory;
    mark_register_write(instruction, decoded_.reg);
    if (!memory || memory->index != kNoRegister) return;
    const auto is_sum = [&](unsigned target, unsigned source) {
      return decoded_.reg == target && memory->base == source;
    };
    if (is_sum(kRegisterSp, kRegisterSp)) set_kind(instruction, Kind::AddSp, memory->displacement);
    if (is_sum(kRegisterSp, kRegisterBp))
      set_kind(instruction, Kind::SpFromBp, memory->displacement);
    if (is_sum(kRegisterBp, kRegisterSp))
      set_kind(instruction, Kind::BpFromSp, memory->displacement);
  }

  void classify_indirect(StackInstruction& instruction) const {
    switch (operation_) {
      case 2:
      case 3: return set_kind(instruction, Kind::Call);
      case 4:
      case 5: return set_kind(instruction, Kind::IndirectJump);
      case 6: return set_kind(instruction, Kind::Push);
      default: return mark_register_write(instruction, get_modrm_register());
    }
  }

  const X86Instruction& decoded_;
  std::uint8_t opcode_;
  unsigned operation_;  // of opcodes that several operations share
};

}  // namespace

StackInstruction decode_x86(std::string_view bytes) {
  const auto decoded =
      decode_x86_64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return decoded ? Classifier(*decoded).classify() : StackInstruction();
}

// Near calls have two to seven bytes, or eight with a prefix.
bool ends_with_x86_call(std::string_view bytes) {
  for (std::size_t size = 2; size <= std::min<std::size_t>(bytes.size(), 8); ++size) {
    const StackInstruction last = decode_x86(bytes.substr(bytes.size() - size));
    if (last.kind == Kind::Call && last.size == size) return true;
  }
  return false;
}

}  // namespace ctprof
