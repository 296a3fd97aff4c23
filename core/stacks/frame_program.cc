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

#include "core/stacks/byte_cursor.hpp"
#include "core/stacks/frame_expression.hpp"

namespace ctprof {
namespace {

// Limit on the program of one function. The longest one in Debian's compilers has 20,000 bytes.
constexpr std::size_t kLongestProgram = 64 << 10;
constexpr std::size_t kMostRemembered = 16;
// Limit on the program that functions share. Compilers write some 20 bytes.
constexpr std::size_t kLongestCommon = 4 << 10;
// Longer programs have checkpoints at this distance.
constexpr std::size_t kBetweenCheckpoints = 2 << 10;
// Limit in bytes on a function whose rules depend on the address, such as a table of jumps (PLT),
// which has 16 bytes for each function.
constexpr FileAddress kMostOneByOne = 1 << 20;
// Limit on programs with checkpoints per file; at the limit, all are discarded.
constexpr std::size_t kMostLongPrograms = 16;

// The first three have an operand in the lower six bits.
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

  void run_common() {
    const std::string_view program = common_.program;
    if (program.size() > kLongestCommon) return fail();
    ByteCursor code(program);
    while (goes_on(code)) step(code);
    count(code, 0);
    initial_ = state_;
  }

  // Runs the program up to the address or its end; starts from a checkpoint if there is one.
  void run(std::string_view program, FrameCheckpoints* checkpoints) {
    if (program.size() > kLongestProgram) return fail();
    const std::size_t from = checkpoints ? resume_from(*checkpoints) : 0;
    ByteCursor code(program, from);
    while (goes_on(code)) {
      if (checkpoints) add_checkpoint(*checkpoints, code.position());
      step(code);
    }
    count(code, from);
  }
  // Collects the rules of the whole program: each applies from its address on. A program fails if
  // its shared part advances the location.
  void run_all(const FunctionEntry& function, std::vector<std::pair<FileAddress, Rule>>& rules) {
    FileAddress from = function.start;
    if (function.program.size() > kLongestProgram || location_ != from) fail();
    ByteCursor code(function.program);
    while (ok_ && code.ok() && !code.at_end()) {
      step(code);
      if (!ok_ || !code.ok() || location_ == from) continue;
      rules.emplace_back(from, rule());  // the location is the only change
      from = location_;
    }
    count(code, 0);
    rules.emplace_back(from, rule());
  }
  std::uint64_t steps() const { return steps_; }
  // Returns whether the rules depend on the address of the request.
  bool uses_address() const { return uses_address_; }

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

  bool goes_on(const ByteCursor& code) const {
    return ok_ && code.ok() && !code.at_end() && location_ <= address_;
  }
  void count(const ByteCursor& code, std::size_t from) {
    if (!code.ok()) fail();
    steps_ += code.position() - from + (kMostStepsOfByte - 1) * std::exchange(kept_, 0);
  }

  // Continues from the last checkpoint that is not after the address. Returns its position.
  std::size_t resume_from(const FrameCheckpoints& checkpoints) {
    const auto after = std::ranges::upper_bound(checkpoints.all, address_, {},
                                                &FrameCheckpoints::Checkpoint::location);
    if (after == checkpoints.all.begin()) return 0;
    const FrameCheckpoints::Checkpoint& last = *std::prev(after);
    location_ = last.location;
    state_ = last.state;
    remembered_ = last.remembered;
    std::ranges::copy_n(last.states.begin(), static_cast<std::ptrdiff_t>(remembered_),
                        states_.begin());
    return last.position;
  }

  // Adds no checkpoint if the state depends on the requested address, or is unusually large.
  void add_checkpoint(FrameCheckpoints& checkpoints, std::size_t position) {
    auto& all = checkpoints.all;
    const std::size_t last = all.empty() ? 0 : all.back().position;
    if (position < last + kBetweenCheckpoints || uses_address_ ||
        remembered_ > FrameCheckpoints::kMostRemembered)
      return;
    FrameCheckpoints::Checkpoint& next = all.emplace_back();
    next.location = location_;
    next.position = position;
    next.state = state_;
    next.remembered = remembered_;
    std::ranges::copy_n(states_.begin(), static_cast<std::ptrdiff_t>(remembered_),
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

  void advance(std::uint64_t units) {
    std::uint64_t distance = 0;
    if (__builtin_mul_overflow(units, common_.code_factor, &distance) ||
        __builtin_add_overflow(location_, distance, &location_))
      fail();
  }

  void move(std::uint8_t step, ByteCursor& code) {
    switch (step) {
      case kNothing: return;
      case kAdvance1: return advance(code.get<std::uint8_t>());
      case kAdvance2: return advance(code.get<std::uint16_t>());
      case kAdvance4: return advance(code.get<std::uint32_t>());
      default: return fail();  // kSetLocation, which no compiler emits
    }
  }

  void keep(std::uint8_t step) {
    ++kept_;
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
    const auto value = evaluate(expression, address_, false, registers_, uses_address_);
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
      case kRegister: return move_register(number, code.unsigned_leb());
      default:  // a value: has one more operand
        code.unsigned_leb();
        return set(number, {Saved::Unknown, 0});
    }
  }

  // vfork(2) returns twice on one stack, so libc stores its return address in a register.
  void move_register(std::uint64_t number, std::uint64_t in) {
    const bool is_known = number == common_.ra_register && in == registers_.link;
    set(number, {is_known ? Saved::Same : Saved::Unknown, 0});
  }
  FrameState::Where* find(std::uint64_t number) {
    if (number == common_.ra_register) return &state_.ra;
    return number == registers_.bp ? &state_.bp : nullptr;
  }
  void set(std::uint64_t number, const FrameState::Where& where) {
    if (FrameState::Where* place = find(number)) *place = where;
  }
  void save(std::uint64_t number, std::int64_t offset) { set(number, {Saved::AtCfa, offset}); }
  void restore(std::uint64_t number) {
    set(number, number == common_.ra_register ? initial_.ra : initial_.bp);
  }

  // Evaluates an expression that gives the location of the register, or its value.
  void compute(std::uint64_t number, std::string_view expression, bool is_value) {
    using Base = FrameValue::Base;
    if (!find(number)) return;
    const auto value = evaluate(expression, address_, true, registers_, uses_address_);
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
  FrameState state_;
  FrameState initial_;
  std::array<FrameState, kMostRemembered> states_;
  std::size_t remembered_ = 0;
  std::uint64_t kept_ = 0;  // states that this program remembered or restored
  std::uint64_t steps_ = 0;
  bool uses_address_ = false;
  bool ok_ = true;
};

Rule unknown_rule() {
  Rule rule;
  rule.cfa = Cfa::Unknown;
  return rule;
}

// Returns the checkpoints of this program, run after the shared program of the function.
FrameCheckpoints* checkpoints_of(const FunctionEntry& function, LongPrograms& programs) {
  if (function.program.size() <= kBetweenCheckpoints) return nullptr;
  if (programs.size() == kMostLongPrograms && !programs.contains(function.program.data()))
    programs.clear();
  FrameCheckpoints& known = programs[function.program.data()];
  const CommonEntry& common = function.common;
  const FrameCheckpoints::Owner owner{function.start, common.program.data(), common.code_factor,
                                      common.data_factor, common.ra_register};
  if (known.owner != owner) known = {owner, {}};
  return &known;
}

}  // namespace

Rule rule_in(const FunctionEntry& function, FileAddress address, const RegisterNumbers& registers,
             LongPrograms& programs, std::uint64_t& steps) {
  Program program(function, address, registers);
  program.run_common();
  program.run(function.program, checkpoints_of(function, programs));
  steps += program.steps();
  return program.rule();
}

bool visit_rules_in(const FunctionEntry& function, FileAddress begin, FileAddress end,
                    const RegisterNumbers& registers, LongPrograms& programs, std::uint64_t& steps,
                    const RuleVisitor& visit) {
  std::vector<std::pair<FileAddress, Rule>> rules;
  Program program(function, UINT64_MAX, registers);
  program.run_common();
  program.run_all(function, rules);
  steps += program.steps();
  if (!program.uses_address()) {
    for (const auto& [start, rule] : rules)
      if (start < end && !visit(std::max(start, begin), rule)) return false;
    return true;
  }
  if (end - begin > kMostOneByOne) return visit(begin, unknown_rule());
  for (FileAddress address = begin; address < end; ++address)
    if (!visit(address, rule_in(function, address, registers, programs, steps))) return false;
  return true;
}

}  // namespace ctprof
