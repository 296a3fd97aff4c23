#include "core/stacks/frame_registers.hpp"

#include "core/stacks/frame_expression.hpp"
#include "core/stacks/frame_instructions.hpp"

namespace ctprof {
namespace {

using namespace call_frame;

std::int64_t multiply(std::uint64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(a * static_cast<std::uint64_t>(b));
}

template <class Small>
bool fits_into(std::int64_t offset) {
  return offset == static_cast<Small>(offset);
}

}  // namespace

FrameRegisters::FrameRegisters(const CommonEntry& common, const RegisterNumbers& registers,
                               FileAddress address)
    : common_(common), registers_(registers), address_(address) {
  state_.ra.saved = registers.has_link ? RegisterLocation::Same : RegisterLocation::Unknown;
  state_.bp.saved = RegisterLocation::Same;
}

bool FrameRegisters::apply(std::uint8_t instruction, ByteCursor& code) {
  const std::uint8_t operand = instruction & 0x3f;
  switch (instruction & 0xc0) {
    case kOffset:
      save(operand, multiply(code.read_unsigned_leb(), common_.data_factor));
      return true;
    case kRestore: restore(operand); return true;
    default: break;
  }
  const bool defines_cfa = (instruction >= kDefCfa && instruction <= kDefCfaExpression) ||
                           instruction == kDefCfaSigned || instruction == kDefCfaOffsetSigned;
  if (defines_cfa)
    define_cfa(instruction, code);
  else if ((instruction >= kOffsetExtended && instruction <= kValExpression) ||
           instruction == kNegativeOffsetExtended)
    set_register(instruction, code);
  else
    return false;
  return true;
}

UnwindRule FrameRegisters::make_rule() const {
  UnwindRule rule;
  rule.is_signal = common_.is_signal;
  rule.cfa = Cfa::Unknown;
  if (!fits_into<std::int32_t>(state_.cfa_offset) || !fits_into<std::int16_t>(state_.cfa_added) ||
      !fits_into<std::int32_t>(state_.ra.offset))
    return rule;
  rule.cfa = get_cfa();
  rule.cfa_offset = static_cast<std::int32_t>(state_.cfa_offset);
  rule.cfa_added = static_cast<std::int16_t>(state_.cfa_added);
  rule.ra = state_.ra.saved;
  rule.ra_offset = static_cast<std::int32_t>(state_.ra.offset);
  rule.bp = fits_into<std::int32_t>(state_.bp.offset) ? state_.bp.saved : RegisterLocation::Unknown;
  rule.bp_offset = static_cast<std::int32_t>(state_.bp.offset);
  return rule;
}

Cfa FrameRegisters::get_cfa() const {
  if (state_.cfa_register == registers_.sp) return Cfa::Sp;
  if (state_.cfa_register == registers_.bp) return Cfa::Bp;
  return state_.cfa;
}

void FrameRegisters::define_cfa(std::uint8_t instruction, ByteCursor& code) {
  if (instruction == kDefCfaExpression) return compute_cfa(code.take(code.read_unsigned_leb()));
  const bool has_register =
      instruction == kDefCfa || instruction == kDefCfaSigned || instruction == kDefCfaRegister;
  if (has_register) state_.cfa_register = code.read_unsigned_leb();
  if (instruction == kDefCfa || instruction == kDefCfaOffset)
    state_.cfa_offset = static_cast<std::int64_t>(code.read_unsigned_leb());
  if (instruction == kDefCfaSigned || instruction == kDefCfaOffsetSigned)
    state_.cfa_offset =
        multiply(static_cast<std::uint64_t>(code.read_signed_leb()), common_.data_factor);
  state_.cfa = Cfa::Unknown;
  state_.cfa_added = 0;
}

void FrameRegisters::compute_cfa(std::string_view expression) {
  using Base = FrameValue::Base;
  const auto value = evaluate_expression(expression, address_, false, registers_, uses_address_);
  state_.cfa_register = UINT64_MAX;
  state_.cfa = Cfa::Unknown;
  if (!value) return;
  state_.cfa_offset = value->offset;
  state_.cfa_added = value->added;
  if (value->base == Base::Sp) state_.cfa = value->is_stored ? Cfa::AtSp : Cfa::Sp;
  if (value->base == Base::Bp) state_.cfa = value->is_stored ? Cfa::AtBp : Cfa::Bp;
}

void FrameRegisters::set_register(std::uint8_t instruction, ByteCursor& code) {
  const std::uint64_t number = code.read_unsigned_leb();
  switch (instruction) {
    case kOffsetExtended:
      return save(number, multiply(code.read_unsigned_leb(), common_.data_factor));
    case kOffsetExtendedSigned:
      return save(number, multiply(static_cast<std::uint64_t>(code.read_signed_leb()),
                                   common_.data_factor));
    case kRestoreExtended: return restore(number);
    case kUndefined: return set_saved(number, {RegisterLocation::Undefined, 0});
    case kSameValue: return set_saved(number, {RegisterLocation::Same, 0});
    case kExpression:
      return set_from_expression(number, code.take(code.read_unsigned_leb()), false);
    case kValExpression:
      return set_from_expression(number, code.take(code.read_unsigned_leb()), true);
    case kRegister: return move_register(number, code.read_unsigned_leb());
    case kNegativeOffsetExtended:
      return save(number, multiply(0 - code.read_unsigned_leb(), common_.data_factor));
    default:  // a value: has one more operand
      code.read_unsigned_leb();
      return set_saved(number, {RegisterLocation::Unknown, 0});
  }
}

// vfork(2) returns twice on one stack, so libc stores its return address in a register.
void FrameRegisters::move_register(std::uint64_t number, std::uint64_t source) {
  const bool is_known = number == common_.ra_register && source == registers_.link;
  set_saved(number, {is_known ? RegisterLocation::Same : RegisterLocation::Unknown, 0});
}

FrameState::SavedRegister* FrameRegisters::find_register(std::uint64_t number) {
  if (number == common_.ra_register) return &state_.ra;
  return number == registers_.bp ? &state_.bp : nullptr;
}

void FrameRegisters::set_saved(std::uint64_t number, const FrameState::SavedRegister& saved) {
  if (FrameState::SavedRegister* target = find_register(number)) *target = saved;
}

void FrameRegisters::save(std::uint64_t number, std::int64_t offset) {
  set_saved(number, {RegisterLocation::AtCfa, offset});
}

void FrameRegisters::restore(std::uint64_t number) {
  set_saved(number, number == common_.ra_register ? initial_.ra : initial_.bp);
}

// Evaluates an expression that gives the location of the register, or its value.
void FrameRegisters::set_from_expression(std::uint64_t number, std::string_view expression,
                                         bool is_value) {
  using Base = FrameValue::Base;
  if (!find_register(number)) return;
  const auto value = evaluate_expression(expression, address_, true, registers_, uses_address_);
  if (!value || value->is_stored != is_value || value->added != 0)
    return set_saved(number, {RegisterLocation::Unknown, 0});
  const RegisterLocation saved = value->base == Base::Cfa  ? RegisterLocation::AtCfa
                                 : value->base == Base::Sp ? RegisterLocation::AtSp
                                 : value->base == Base::Bp ? RegisterLocation::AtBp
                                                           : RegisterLocation::Unknown;
  set_saved(number, {saved, value->offset});
}

}  // namespace ctprof
