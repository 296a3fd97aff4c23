#include "core/stacks/frame_program.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/elf/byte_cursor.hpp"
#include "core/stacks/frame_expression.hpp"

namespace ctprof {
namespace {

// Limit on the program of one function. The longest one in Debian's compilers has 20,000 bytes.
constexpr std::size_t kMaxProgramSize = 64 << 10;
constexpr std::size_t kMaxRemembered = 16;
// Limit on the program that functions share. Compilers write some 20 bytes.
constexpr std::size_t kMaxCommonProgramSize = 4 << 10;
// Longer programs have checkpoints at this distance.
constexpr std::size_t kCheckpointDistance = 2 << 10;
// Limit in bytes on a function whose rules depend on the address, such as a table of jumps (PLT),
// which has 16 bytes for each function.
constexpr FileAddress kMaxAddressDependentSize = 1 << 20;
// How many long programs of a file keep checkpoints; the next one discards those of all others.
constexpr std::size_t kMaxLongPrograms = 16;

// The first three have an operand in the lower six bits.
enum ProgramInstruction : std::uint8_t {
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
  kNegateSignedAddress = 0x2d,        // AArch64; SPARC's windows elsewhere
  kArgsSize = 0x2e,
  kNegativeOffsetExtended = 0x2f,
};

std::int64_t multiply(std::uint64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(a * static_cast<std::uint64_t>(b));
}

template <class Small>
bool fits_into(std::int64_t offset) {
  return offset == static_cast<Small>(offset);
}

class ProgramRun {
 public:
  ProgramRun(const FunctionEntry& function, FileAddress address, const RegisterNumbers& registers)
      : common_(function.common),
        registers_(registers),
        address_(address),
        location_(function.start) {
    state_.ra.saved = registers.has_link ? RegisterLocation::Same : RegisterLocation::Unknown;
    state_.bp.saved = RegisterLocation::Same;
  }

  void run_common_program() {
    const std::string_view program = common_.program;
    if (program.size() > kMaxCommonProgramSize) return fail();
    ByteCursor code(program);
    while (is_before_address(code)) step(code);
    count_steps(code, 0);
    initial_ = state_;
  }

  // Runs the program up to the address or its end; starts from a checkpoint if there is one.
  void run(std::string_view program, FrameCheckpoints* checkpoints) {
    if (program.size() > kMaxProgramSize) return fail();
    const std::size_t first_position = checkpoints ? resume_from_checkpoint(*checkpoints) : 0;
    ByteCursor code(program, first_position);
    while (is_before_address(code)) {
      if (checkpoints) add_checkpoint(*checkpoints, code.position());
      step(code);
    }
    count_steps(code, first_position);
  }
  // Collects the rules of the whole program: each applies from its address on. A program fails if
  // its shared part advances the location.
  void run_all(const FunctionEntry& function,
               std::vector<std::pair<FileAddress, UnwindRule>>& rules) {
    FileAddress rule_start = function.start;
    if (function.program.size() > kMaxProgramSize || location_ != rule_start) fail();
    ByteCursor code(function.program);
    while (ok_ && code.ok() && !code.at_end()) {
      step(code);
      if (!ok_ || !code.ok() || location_ == rule_start) continue;
      rules.emplace_back(rule_start, rule());  // the location is the only change
      rule_start = location_;
    }
    count_steps(code, 0);
    rules.emplace_back(rule_start, rule());
  }
  std::uint64_t steps() const { return steps_; }
  // Returns whether the rules depend on the address of the request.
  bool uses_address() const { return uses_address_; }

  UnwindRule rule() const {
    UnwindRule rule;
    rule.is_signal = common_.is_signal;
    rule.cfa = Cfa::Unknown;
    if (!ok_ || !fits_into<std::int32_t>(state_.cfa_offset) ||
        !fits_into<std::int16_t>(state_.cfa_added) || !fits_into<std::int32_t>(state_.ra.offset))
      return rule;
    rule.cfa = cfa();
    rule.cfa_offset = static_cast<std::int32_t>(state_.cfa_offset);
    rule.cfa_added = static_cast<std::int16_t>(state_.cfa_added);
    rule.ra = state_.ra.saved;
    rule.ra_offset = static_cast<std::int32_t>(state_.ra.offset);
    rule.bp =
        fits_into<std::int32_t>(state_.bp.offset) ? state_.bp.saved : RegisterLocation::Unknown;
    rule.bp_offset = static_cast<std::int32_t>(state_.bp.offset);
    return rule;
  }

 private:
  void fail() { ok_ = false; }

  bool is_before_address(const ByteCursor& code) const {
    return ok_ && code.ok() && !code.at_end() && location_ <= address_;
  }
  void count_steps(const ByteCursor& code, std::size_t first_position) {
    if (!code.ok()) fail();
    steps_ += code.position() - first_position +
              (kMaxStepsPerByte - 1) * std::exchange(state_operations_, 0);
  }

  // Continues from the last checkpoint that is not after the address. Returns its position.
  std::size_t resume_from_checkpoint(const FrameCheckpoints& checkpoints) {
    const auto after = std::ranges::upper_bound(checkpoints.all, address_, {},
                                                &FrameCheckpoints::Checkpoint::location);
    if (after == checkpoints.all.begin()) return 0;
    const FrameCheckpoints::Checkpoint& last = *std::prev(after);
    location_ = last.location;
    state_ = last.state;
    remembered_count_ = last.remembered_count;
    std::ranges::copy_n(last.states.begin(), static_cast<std::ptrdiff_t>(remembered_count_),
                        states_.begin());
    return last.position;
  }

  // Adds no checkpoint if the state depends on the requested address, or is unusually large.
  void add_checkpoint(FrameCheckpoints& checkpoints, std::size_t position) {
    auto& all = checkpoints.all;
    const std::size_t last = all.empty() ? 0 : all.back().position;
    if (position < last + kCheckpointDistance || uses_address_ ||
        remembered_count_ > FrameCheckpoints::kMaxRememberedStates)
      return;
    FrameCheckpoints::Checkpoint& next = all.emplace_back();
    next.location = location_;
    next.position = position;
    next.state = state_;
    next.remembered_count = remembered_count_;
    std::ranges::copy_n(states_.begin(), static_cast<std::ptrdiff_t>(remembered_count_),
                        next.states.begin());
  }

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
      case kOffset: return save(operand, multiply(code.read_unsigned_leb(), common_.data_factor));
      case kRestore: return restore(operand);
      default: break;
    }
    if (byte <= kAdvance4) return advance_location(byte, code);
    if (byte == kRememberState || byte == kRestoreState) return remember_or_restore(byte);
    if (byte >= kDefCfa && byte <= kDefCfaExpression) return define_cfa(byte, code);
    if (byte == kDefCfaSigned || byte == kDefCfaOffsetSigned) return define_cfa(byte, code);
    if (byte >= kOffsetExtended && byte <= kValExpression) return set_register(byte, code);
    skip(byte, code);
  }

  void advance(std::uint64_t units) {
    std::uint64_t distance = 0;
    if (__builtin_mul_overflow(units, common_.code_factor, &distance) ||
        __builtin_add_overflow(location_, distance, &location_))
      fail();
  }

  void advance_location(std::uint8_t step, ByteCursor& code) {
    switch (step) {
      case kNothing: return;
      case kAdvance1: return advance(code.get<std::uint8_t>());
      case kAdvance2: return advance(code.get<std::uint16_t>());
      case kAdvance4: return advance(code.get<std::uint32_t>());
      default: return fail();  // kSetLocation, which no compiler emits
    }
  }

  void remember_or_restore(std::uint8_t step) {
    ++state_operations_;
    if (step == kRememberState) {
      if (remembered_count_ == kMaxRemembered) return fail();
      states_[remembered_count_++] = state_;
    } else {
      if (remembered_count_ == 0) return fail();
      state_ = states_[--remembered_count_];
    }
  }

  void define_cfa(std::uint8_t step, ByteCursor& code) {
    if (step == kDefCfaExpression) return compute_cfa(code.take(code.read_unsigned_leb()));
    const bool has_register = step == kDefCfa || step == kDefCfaSigned || step == kDefCfaRegister;
    if (has_register) state_.cfa_register = code.read_unsigned_leb();
    if (step == kDefCfa || step == kDefCfaOffset)
      state_.cfa_offset = static_cast<std::int64_t>(code.read_unsigned_leb());
    if (step == kDefCfaSigned || step == kDefCfaOffsetSigned)
      state_.cfa_offset =
          multiply(static_cast<std::uint64_t>(code.read_signed_leb()), common_.data_factor);
    state_.cfa = Cfa::Unknown;
    state_.cfa_added = 0;
  }

  void compute_cfa(std::string_view expression) {
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

  void set_register(std::uint8_t step, ByteCursor& code) {
    const std::uint64_t number = code.read_unsigned_leb();
    switch (step) {
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
      default:  // a value: has one more operand
        code.read_unsigned_leb();
        return set_saved(number, {RegisterLocation::Unknown, 0});
    }
  }

  // vfork(2) returns twice on one stack, so libc stores its return address in a register.
  void move_register(std::uint64_t number, std::uint64_t source) {
    const bool is_known = number == common_.ra_register && source == registers_.link;
    set_saved(number, {is_known ? RegisterLocation::Same : RegisterLocation::Unknown, 0});
  }
  FrameState::SavedRegister* find_register(std::uint64_t number) {
    if (number == common_.ra_register) return &state_.ra;
    return number == registers_.bp ? &state_.bp : nullptr;
  }
  void set_saved(std::uint64_t number, const FrameState::SavedRegister& saved) {
    if (FrameState::SavedRegister* target = find_register(number)) *target = saved;
  }
  void save(std::uint64_t number, std::int64_t offset) {
    set_saved(number, {RegisterLocation::AtCfa, offset});
  }
  void restore(std::uint64_t number) {
    set_saved(number, number == common_.ra_register ? initial_.ra : initial_.bp);
  }

  // Evaluates an expression that gives the location of the register, or its value.
  void set_from_expression(std::uint64_t number, std::string_view expression, bool is_value) {
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

  void skip(std::uint8_t step, ByteCursor& code) {
    switch (step) {
      case kNegateSignedAddress:
      case kNegateSignedAddressWithPc: return;
      case kArgsSize: code.read_unsigned_leb(); return;
      case kNegativeOffsetExtended: {
        const std::uint64_t number = code.read_unsigned_leb();
        return save(number, multiply(0 - code.read_unsigned_leb(), common_.data_factor));
      }
      default: return fail();
    }
  }

  const CommonEntry& common_;
  const RegisterNumbers& registers_;
  FileAddress address_;
  FileAddress location_;
  FrameState state_;
  FrameState initial_;
  std::array<FrameState, kMaxRemembered> states_;
  std::size_t remembered_count_ = 0;
  std::uint64_t state_operations_ = 0;  // states that this program remembered or restored
  std::uint64_t steps_ = 0;
  bool uses_address_ = false;
  bool ok_ = true;
};

UnwindRule make_unknown_rule() {
  UnwindRule rule;
  rule.cfa = Cfa::Unknown;
  return rule;
}

// Returns the checkpoints of this program, run after the shared program of the function.
FrameCheckpoints* get_checkpoints(const FunctionEntry& function, LongPrograms& programs) {
  if (function.program.size() <= kCheckpointDistance) return nullptr;
  if (programs.size() == kMaxLongPrograms && !programs.contains(function.program.data()))
    programs.clear();
  FrameCheckpoints& known = programs[function.program.data()];
  const CommonEntry& common = function.common;
  const FrameCheckpoints::Owner owner{function.start, common.program.data(), common.code_factor,
                                      common.data_factor, common.ra_register};
  if (known.owner != owner) known = {owner, {}};
  return &known;
}

}  // namespace

UnwindRule find_program_rule(const FunctionEntry& function, FileAddress address,
                             const RegisterNumbers& registers, LongPrograms& programs,
                             std::uint64_t& steps) {
  ProgramRun program(function, address, registers);
  program.run_common_program();
  program.run(function.program, get_checkpoints(function, programs));
  steps += program.steps();
  return program.rule();
}

bool visit_program_rules(const FunctionEntry& function, FileAddress begin, FileAddress end,
                         const RegisterNumbers& registers, LongPrograms& programs,
                         std::uint64_t& steps, const RuleVisitor& visit) {
  std::vector<std::pair<FileAddress, UnwindRule>> rules;
  ProgramRun program(function, UINT64_MAX, registers);
  program.run_common_program();
  program.run_all(function, rules);
  steps += program.steps();
  if (!program.uses_address()) {
    for (const auto& [start, rule] : rules)
      if (start < end && !visit(std::max(start, begin), rule)) return false;
    return true;
  }
  if (end - begin > kMaxAddressDependentSize) return visit(begin, make_unknown_rule());
  for (FileAddress address = begin; address < end; ++address)
    if (!visit(address, find_program_rule(function, address, registers, programs, steps)))
      return false;
  return true;
}

}  // namespace ctprof
