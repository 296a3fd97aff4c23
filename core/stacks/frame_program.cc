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
#include "core/stacks/frame_instructions.hpp"
#include "core/stacks/frame_registers.hpp"

namespace ctprof {
namespace {

using namespace call_frame;

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

UnwindRule make_unknown_rule(bool is_signal = false) {
  UnwindRule rule;
  rule.is_signal = is_signal;
  rule.cfa = Cfa::Unknown;
  return rule;
}

class ProgramRun {
 public:
  ProgramRun(const FunctionEntry& function, FileAddress address, const RegisterNumbers& registers)
      : common_(function.common),
        registers_(function.common, registers, address),
        address_(address),
        location_(function.start) {}

  void run_common_program() {
    const std::string_view program = common_.program;
    if (program.size() > kMaxCommonProgramSize) return fail();
    ByteCursor code(program);
    while (is_before_address(code)) step(code);
    count_steps(code, 0);
    registers_.keep_as_initial();
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
  bool uses_address() const { return registers_.uses_address(); }

  UnwindRule rule() const {
    return ok_ ? registers_.make_rule() : make_unknown_rule(common_.is_signal);
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
    registers_.set_state(last.state);
    remembered_count_ = last.remembered_count;
    std::ranges::copy_n(last.states.begin(), static_cast<std::ptrdiff_t>(remembered_count_),
                        states_.begin());
    return last.position;
  }

  // Adds no checkpoint if the state depends on the requested address, or is unusually large.
  void add_checkpoint(FrameCheckpoints& checkpoints, std::size_t position) {
    auto& all = checkpoints.all;
    const std::size_t last = all.empty() ? 0 : all.back().position;
    if (position < last + kCheckpointDistance || uses_address() ||
        remembered_count_ > FrameCheckpoints::kMaxRememberedStates)
      return;
    FrameCheckpoints::Checkpoint& next = all.emplace_back();
    next.location = location_;
    next.position = position;
    next.state = registers_.state();
    next.remembered_count = remembered_count_;
    std::ranges::copy_n(states_.begin(), static_cast<std::ptrdiff_t>(remembered_count_),
                        next.states.begin());
  }

  void step(ByteCursor& code) {
    const auto byte = code.get<std::uint8_t>();
    if ((byte & 0xc0) == kAdvance) return advance(byte & 0x3f);
    if (byte <= kAdvance4) return advance_location(byte, code);
    if (byte == kRememberState || byte == kRestoreState) return remember_or_restore(byte);
    if (!registers_.apply(byte, code)) skip(byte, code);
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
      states_[remembered_count_++] = registers_.state();
    } else {
      if (remembered_count_ == 0) return fail();
      registers_.set_state(states_[--remembered_count_]);
    }
  }

  void skip(std::uint8_t instruction, ByteCursor& code) {
    switch (instruction) {
      case kNegateSignedAddress:
      case kNegateSignedAddressWithPc: return;
      case kArgsSize: code.read_unsigned_leb(); return;
      default: return fail();
    }
  }

  const CommonEntry& common_;
  FrameRegisters registers_;
  FileAddress address_;
  FileAddress location_;
  std::array<FrameState, kMaxRemembered> states_;
  std::size_t remembered_count_ = 0;
  std::uint64_t state_operations_ = 0;  // states that this program remembered or restored
  std::uint64_t steps_ = 0;
  bool ok_ = true;
};

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
