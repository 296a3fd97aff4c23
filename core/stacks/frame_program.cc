#include "core/stacks/frame_program.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/stacks/byte_cursor.hpp"
#include "core/stacks/frame_expression.hpp"

namespace ctprof {
namespace {

// Of one function. An interpreter's main loop has some ten thousand.
constexpr std::size_t kLongestProgram = 128 << 10;
constexpr std::size_t kMostRemembered = 16;

// The first three have their operand in the lower six bits.
enum Step : std::uint8_t {
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
  kNegateSignedAddressWithPc = 0x2c,  // AArch64: what the return address is signed with
  kNegateSignedAddress = 0x2d,        // AArch64; SPARC's windows elsewhere
  kArgsSize = 0x2e,
  kNegativeOffsetExtended = 0x2f,
};

struct Where {
  Saved saved = Saved::Unknown;
  std::int64_t offset = 0;
};

struct State {
  std::uint64_t cfa_register = UINT64_MAX;  // where cfa is Sp: by number, it may yet change
  Cfa cfa = Cfa::Unknown;
  std::int64_t cfa_offset = 0;
  std::int64_t cfa_added = 0;
  Where ra, bp;
};

std::int64_t product(std::uint64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(a * static_cast<std::uint64_t>(b));
}

template <class Small>
bool fits(std::int64_t offset) {
  return offset == static_cast<Small>(offset);
}

class Program {
 public:
  Program(const FunctionEntry& function, FileAddress address, const RegisterNumbers& registers)
      : common_(function.common),
        registers_(registers),
        address_(address),
        location_(function.start) {
    state_.ra.saved = registers.has_link ? Saved::Same : Saved::Unknown;
    state_.bp.saved = Saved::Same;
  }

  // Until the end, or a step that is for a later address.
  void run(std::string_view program) {
    if (program.size() > kLongestProgram) return fail();
    ByteCursor code(program);
    while (ok_ && code.ok() && !code.at_end() && location_ <= address_) step(code);
    if (!code.ok()) fail();
  }
  void keep_initial() { initial_ = state_; }

  Rule rule() const {
    Rule rule;
    rule.is_signal = common_.is_signal;
    rule.cfa = Cfa::Unknown;
    if (!ok_ || !fits<std::int32_t>(state_.cfa_offset) || !fits<std::int16_t>(state_.cfa_added) ||
        !fits<std::int32_t>(state_.ra.offset))
      return rule;
    rule.cfa = cfa();
    rule.cfa_offset = static_cast<std::int32_t>(state_.cfa_offset);
    rule.cfa_added = static_cast<std::int16_t>(state_.cfa_added);
    rule.ra = state_.ra.saved;
    rule.ra_offset = static_cast<std::int32_t>(state_.ra.offset);
    rule.bp = fits<std::int32_t>(state_.bp.offset) ? state_.bp.saved : Saved::Unknown;
    rule.bp_offset = static_cast<std::int32_t>(state_.bp.offset);
    return rule;
  }

 private:
  void fail() { ok_ = false; }

  Cfa cfa() const {
    if (state_.cfa_register == registers_.sp) return Cfa::Sp;
    if (state_.cfa_register == registers_.bp) return Cfa::Bp;
    return state_.cfa;
  }

  void step(ByteCursor& code) {
    const auto byte = code.get<std::uint8_t>();
    const std::uint8_t operand = byte & 0x3f;
    switch (byte & 0xc0) {
      case kAdvance: return advance(operand);
      case kOffset: return save(operand, product(code.unsigned_leb(), common_.data_factor));
      case kRestore: return restore(operand);
      default: break;
    }
    if (byte <= kAdvance4) return move(byte, code);
    if (byte == kRememberState || byte == kRestoreState) return keep(byte);
    if (byte >= kDefCfa && byte <= kDefCfaExpression) return define_cfa(byte, code);
    if (byte == kDefCfaSigned || byte == kDefCfaOffsetSigned) return define_cfa(byte, code);
    if (byte >= kOffsetExtended && byte <= kValExpression) return set_register(byte, code);
    skip(byte, code);
  }

  void advance(std::uint64_t units) { location_ += units * common_.code_factor; }

  void move(std::uint8_t step, ByteCursor& code) {
    switch (step) {
      case kNothing: return;
      case kAdvance1: return advance(code.get<std::uint8_t>());
      case kAdvance2: return advance(code.get<std::uint16_t>());
      case kAdvance4: return advance(code.get<std::uint32_t>());
      default: return fail();  // kSetLocation, which nobody writes
    }
  }

  void keep(std::uint8_t step) {
    if (step == kRememberState) {
      if (remembered_ == kMostRemembered) return fail();
      states_[remembered_++] = state_;
    } else {
      if (remembered_ == 0) return fail();
      state_ = states_[--remembered_];
    }
  }

  void define_cfa(std::uint8_t step, ByteCursor& code) {
    if (step == kDefCfaExpression) return compute_cfa(code.take(code.unsigned_leb()));
    const bool has_register = step == kDefCfa || step == kDefCfaSigned || step == kDefCfaRegister;
    if (has_register) state_.cfa_register = code.unsigned_leb();
    if (step == kDefCfa || step == kDefCfaOffset)
      state_.cfa_offset = static_cast<std::int64_t>(code.unsigned_leb());
    if (step == kDefCfaSigned || step == kDefCfaOffsetSigned)
      state_.cfa_offset =
          product(static_cast<std::uint64_t>(code.signed_leb()), common_.data_factor);
    state_.cfa = Cfa::Unknown;
    state_.cfa_added = 0;
  }

  void compute_cfa(std::string_view expression) {
    using Base = FrameValue::Base;
    const auto value = evaluate(expression, address_, false, registers_);
    state_.cfa_register = UINT64_MAX;
    state_.cfa = Cfa::Unknown;
    if (!value) return;
    state_.cfa_offset = value->offset;
    state_.cfa_added = value->added;
    if (value->base == Base::Sp) state_.cfa = value->is_stored ? Cfa::AtSp : Cfa::Sp;
    if (value->base == Base::Bp) state_.cfa = value->is_stored ? Cfa::AtBp : Cfa::Bp;
  }

  void set_register(std::uint8_t step, ByteCursor& code) {
    const std::uint64_t number = code.unsigned_leb();
    switch (step) {
      case kOffsetExtended: return save(number, product(code.unsigned_leb(), common_.data_factor));
      case kOffsetExtendedSigned:
        return save(number,
                    product(static_cast<std::uint64_t>(code.signed_leb()), common_.data_factor));
      case kRestoreExtended: return restore(number);
      case kUndefined: return set(number, {Saved::Nowhere, 0});
      case kSameValue: return set(number, {Saved::Same, 0});
      case kExpression: return compute(number, code.take(code.unsigned_leb()), false);
      case kValExpression: return compute(number, code.take(code.unsigned_leb()), true);
      default:  // in another register, or a value: an operand more
        code.unsigned_leb();
        return set(number, {Saved::Unknown, 0});
    }
  }

  Where* find(std::uint64_t number) {
    if (number == common_.ra_register) return &state_.ra;
    return number == registers_.bp ? &state_.bp : nullptr;
  }
  void set(std::uint64_t number, const Where& where) {
    if (Where* place = find(number)) *place = where;
  }
  void save(std::uint64_t number, std::int64_t offset) { set(number, {Saved::AtCfa, offset}); }
  void restore(std::uint64_t number) {
    set(number, number == common_.ra_register ? initial_.ra : initial_.bp);
  }

  // The expression gives where the register is stored, or its value.
  void compute(std::uint64_t number, std::string_view expression, bool is_value) {
    using Base = FrameValue::Base;
    if (!find(number)) return;
    const auto value = evaluate(expression, address_, true, registers_);
    if (!value || value->is_stored != is_value || value->added != 0)
      return set(number, {Saved::Unknown, 0});
    const Saved saved = value->base == Base::Cfa  ? Saved::AtCfa
                        : value->base == Base::Sp ? Saved::AtSp
                        : value->base == Base::Bp ? Saved::AtBp
                                                  : Saved::Unknown;
    set(number, {saved, value->offset});
  }

  void skip(std::uint8_t step, ByteCursor& code) {
    switch (step) {
      case kNegateSignedAddress:
      case kNegateSignedAddressWithPc: return;
      case kArgsSize: code.unsigned_leb(); return;
      case kNegativeOffsetExtended: {
        const std::uint64_t number = code.unsigned_leb();
        return save(number, product(0 - code.unsigned_leb(), common_.data_factor));
      }
      default: return fail();
    }
  }

  const CommonEntry& common_;
  const RegisterNumbers& registers_;
  FileAddress address_;
  FileAddress location_;
  State state_;
  State initial_;
  std::array<State, kMostRemembered> states_;
  std::size_t remembered_ = 0;
  bool ok_ = true;
};

}  // namespace

Rule rule_in(const FunctionEntry& function, FileAddress address, const RegisterNumbers& registers) {
  Program program(function, address, registers);
  program.run(function.common.program);
  program.keep_initial();
  program.run(function.program);
  return program.rule();
}

}  // namespace ctprof
