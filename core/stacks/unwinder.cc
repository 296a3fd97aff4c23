#include "core/stacks/unwinder.hpp"

#include <optional>
#include <span>
#include <utility>

namespace ctprof {
namespace {

constexpr UnwindRule kNoRule{};
// Limit on cached addresses whose preceding instruction is known.
constexpr std::size_t kMaxCachedCalls = 64 << 10;
// An address further beyond the copy than this is invalid, not in a part that was not copied.
constexpr std::uint64_t kMaxStackSize = 1ULL << 30;
// User addresses have 48 bits; the bits above may contain a signature.
constexpr std::uint64_t kAddressBits = (1ULL << 48) - 1;

}  // namespace

class Walk {
 public:
  Walk(Unwinder& unwinder, const AddressSpace& space, const Registers& registers,
       const StackCopy& stack, std::vector<Frame>& frames)
      : unwinder_(unwinder), space_(space), stack_(stack), frames_(frames), registers_(registers) {}

  WalkEnd run(std::size_t max_frames) {
    for (;;) {
      const UnwindRule* rule = enter_frame();
      if (!rule) return is_on_other_stack_ ? WalkEnd::OtherStack : WalkEnd::Failed;
      if (is_made_up_address_ && unwinder_.modules_.is_start_context(range_->module, code_offset()))
        return WalkEnd::Root;
      if (const auto ending = rule->cfa == Cfa::None ? guess_caller() : follow_rule(*rule))
        return *ending == WalkEnd::Failed && is_on_other_stack_ ? WalkEnd::OtherStack : *ending;
      if (frames_.size() >= max_frames) return WalkEnd::TooDeep;
    }
  }

 private:
  using Step = std::optional<WalkEnd>;  // nothing: the walk continues

  // Adds the current frame and returns its rule; null if there is no code here. A call that never
  // returns may be the last instruction of its function, so the address of the call is used, not
  // the next one. The kernel (for a signal) or assembly may also write a return address. No call
  // precedes such an address, so the address itself is used.
  const UnwindRule* enter_frame() {
    const std::uint64_t ip = is_current_instruction_ ? registers_.ip : registers_.ip - 1;
    if (!range_ || ip - range_->start >= range_->end - range_->start) range_ = space_.find(ip);
    if (!range_) {
      if (frames_.empty()) frames_.push_back({ip, Modules::kUnknown, is_guessed_});
      return nullptr;
    }
    std::uint64_t offset = ip - range_->start + range_->offset;
    const UnwindRule* rule = &rule_at(offset);
    const bool is_call = rule->cfa != Cfa::None && !rule->is_signal;
    is_made_up_address_ = false;
    if (!is_call && !is_current_instruction_ && registers_.ip < range_->end) {
      rule = &rule_at(offset + 1);
      is_made_up_address_ = rule->cfa != Cfa::None;
      offset += is_made_up_address_;
    }
    frames_.push_back({offset, range_->module, is_guessed_});
    return rule;
  }
  const UnwindRule& rule_at(std::uint64_t offset) {
    return unwinder_.find_rule(space_.process(), *range_, offset);
  }

  Step follow_rule(const UnwindRule& rule) {
    is_in_pointer_chain_ = false;
    if (rule.ra == RegisterLocation::Undefined) return WalkEnd::Root;
    if (rule.ra == RegisterLocation::OnOtherStack) return WalkEnd::OtherStack;
    std::uint64_t cfa = 0;
    if (const Step failure = find_cfa(rule, cfa)) return failure;
    const bool grows = cfa > registers_.sp || (cfa == registers_.sp && is_current_instruction_);
    if (!grows && !rule.is_signal) return WalkEnd::Failed;
    Registers caller{0, cfa, registers_.bp, 0};
    if (const Step failed = find_ip(rule, cfa, caller.ip)) return failed;
    if (const Step failed = find_bp(rule, cfa, caller.bp)) return failed;
    return enter_caller(caller, rule.is_signal);
  }

  // Finds the caller of code without call frame information. It tries, by certainty: a path to a
  // return instruction, the chain of frame pointers, possible paths, and the top of the stack of a
  // leaf. Each must lead to a return address, which follows a call.
  Step guess_caller() {
    const bool is_in_chain = std::exchange(is_in_pointer_chain_, false);
    is_guessed_ = true;
    if (const auto caller = find_trampoline_caller()) return enter_caller(*caller, false);
    const CodeGuess& guess = unwinder_.find_guess(space_.process(), *range_, code_offset());
    const std::size_t certain_rules = guess.has_return_path ? 1 : 0;
    const auto rules = std::span(guess.rules);
    if (certain_rules > 0 && rules.front().is_signal) return return_from_signal(rules.front());
    if (certain_rules > 0 && follow_guess(rules.front())) return std::nullopt;
    if (unwinder_.modules_.is_program_start(frames_.back())) return WalkEnd::Root;
    if (guess.is_return_in_register) return WalkEnd::Failed;
    const Step chained = follow_chain(is_in_chain);
    if (!chained || *chained == WalkEnd::Root) return chained;
    for (const UnwindRule& rule : rules.subspan(certain_rules))
      if (follow_guess(rule)) return std::nullopt;
    if (is_current_instruction_ && range_is_file() && follow_top_of_stack()) return std::nullopt;
    // The first function of a thread never returns, and has no frame pointer.
    if (registers_.bp == 0 && certain_rules == 0 && !is_current_instruction_ && !is_beyond_copy_)
      return WalkEnd::Root;
    return is_beyond_copy_ ? WalkEnd::EndOfCopy : *chained;
  }
  std::uint64_t code_offset() const { return registers_.ip - range_->start + range_->offset; }
  bool range_is_file() const {
    return unwinder_.modules_[range_->module].kind == Module::Kind::File;
  }

  bool follow_top_of_stack() {
    constexpr UnwindRule kTopOfStack{
        .cfa_offset = 8, .ra_offset = -8, .cfa = Cfa::Sp, .ra = RegisterLocation::AtCfa};
    const bool was_beyond_copy = is_beyond_copy_;
    const bool is_followed = follow_guess(kTopOfStack);
    is_beyond_copy_ = was_beyond_copy;
    return is_followed;
  }

  // No call precedes the address, because the kernel or assembly wrote it as a return address.
  Step return_from_signal(const UnwindRule& rule) {
    frames_.back().offset = code_offset();
    return follow_rule(rule);
  }

  // Returns false if the rule yields no return address.
  bool follow_guess(const UnwindRule& rule) {
    std::uint64_t cfa = 0;
    if (find_cfa(rule, cfa) || cfa <= registers_.sp) return false;
    Registers caller{0, cfa, registers_.bp, 0};
    const Step failed = find_ip(rule, cfa, caller.ip);
    is_beyond_copy_ |= failed == WalkEnd::EndOfCopy;
    if (failed || find_bp(rule, cfa, caller.bp) || is_return_address(caller.ip) != true)
      return false;
    enter_caller(caller, false);
    return true;
  }

  // Follows the frame pointer: the caller's bp is at bp, the return address above it. A chain of
  // frames ends with a bp of zero. Outside a chain, zero has no special meaning: C libraries clear
  // bp when they start a thread, and functions without a frame do not change it.
  Step follow_chain(bool is_in_chain) {
    if (registers_.bp == 0) return is_in_chain ? WalkEnd::Root : WalkEnd::Failed;
    if (registers_.bp < registers_.sp || registers_.bp % sizeof registers_.bp != 0)
      return WalkEnd::Failed;
    Registers caller{0, registers_.bp + 2 * sizeof registers_.bp, 0, 0};
    if (const Step failed = read(registers_.bp, caller.bp)) return failed;
    if (const Step failed = read(registers_.bp + sizeof registers_.bp, caller.ip)) return failed;
    if (caller.ip == 0) return caller.bp == 0 ? WalkEnd::Root : WalkEnd::Failed;
    if (is_return_address(caller.ip) == false) return WalkEnd::Failed;
    is_in_pointer_chain_ = true;
    return enter_caller(caller, false);
  }

  // Returns nothing if the code cannot be read, as that of just-in-time compilers.
  std::optional<bool> is_return_address(std::uint64_t ip) const {
    const CodeRange* range = ip == 0 ? nullptr : space_.find(ip - 1);
    if (!range) return std::nullopt;
    return unwinder_.follows_call(space_.process(), *range, ip - range->start + range->offset);
  }

  // Finds the caller of a trampoline. Python's frames for perf (-X perf) are generated code that
  // only calls back into the interpreter: sub $8,%rsp; call *%rcx; add $8,%rsp; ret. They do not
  // change bp. Returns nothing unless the return address follows a call in the file of the callee.
  std::optional<Registers> find_trampoline_caller() const {
    constexpr std::uint64_t kPadding = 8, kFrameSize = 16;
    const bool is_generated =
        range_ && unwinder_.modules_[range_->module].kind == Module::Kind::Anonymous;
    Registers caller{0, registers_.sp + kFrameSize, registers_.bp, 0};
    if (!is_generated || is_current_instruction_ || frames_.size() < 2) return std::nullopt;
    if (!stack_.read(registers_.sp + kPadding, caller.ip)) return std::nullopt;
    const CodeRange* range = space_.find(caller.ip - 1);
    const bool is_in_callee = range && range->module == frames_[frames_.size() - 2].module;
    if (!is_in_callee || is_return_address(caller.ip) != true) return std::nullopt;
    return caller;
  }

  Step enter_caller(const Registers& caller, bool is_exact) {
    registers_ = caller;
    // A signal may be handled on its own stack; then the interrupted code used another one.
    if (is_exact && registers_.sp - stack_.start >= stack_.bytes.size()) is_on_other_stack_ = true;
    registers_.ip &= unwinder_.address_mask_;
    is_current_instruction_ = is_exact;
    return registers_.ip == 0 ? Step(WalkEnd::Root) : std::nullopt;
  }

  Step find_cfa(const UnwindRule& rule, std::uint64_t& cfa) const {
    const auto offset = static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    switch (rule.cfa) {
      case Cfa::Sp: cfa = registers_.sp + offset; return std::nullopt;
      case Cfa::Bp: cfa = registers_.bp + offset; return std::nullopt;
      case Cfa::AtSp: return read_cfa(registers_.sp + offset, rule.cfa_added, cfa);
      case Cfa::AtBp: return read_cfa(registers_.bp + offset, rule.cfa_added, cfa);
      default: return WalkEnd::Failed;
    }
  }
  Step read_cfa(std::uint64_t address, std::int16_t added, std::uint64_t& cfa) const {
    if (const Step failed = read(address, cfa)) return failed;
    cfa += static_cast<std::uint64_t>(std::int64_t{added});
    return std::nullopt;
  }

  // lr (on x86-64 rdi, only in vfork(2)) contains the return address only of the innermost
  // function, before it calls another.
  Step find_ip(const UnwindRule& rule, std::uint64_t cfa, std::uint64_t& ip) const {
    if (rule.ra == RegisterLocation::Unknown) return WalkEnd::Failed;
    if (rule.ra != RegisterLocation::Same)
      return read(find_address(rule.ra, rule.ra_offset, cfa), ip);
    ip = registers_.lr;
    return is_current_instruction_ && ip != 0 ? std::nullopt : Step(WalkEnd::Failed);
  }

  // In an epilogue, compilers keep the location from which bp was already popped: below sp. Then
  // the register is correct.
  Step find_bp(const UnwindRule& rule, std::uint64_t cfa, std::uint64_t& bp) const {
    if (rule.bp == RegisterLocation::Same || rule.bp == RegisterLocation::Undefined ||
        rule.bp == RegisterLocation::Unknown)
      return std::nullopt;
    const std::uint64_t place = find_address(rule.bp, rule.bp_offset, cfa);
    if (rule.bp == RegisterLocation::AtCfa && place < registers_.sp) return std::nullopt;
    return read(place, bp);
  }

  std::uint64_t find_address(RegisterLocation saved, std::int32_t offset, std::uint64_t cfa) const {
    const std::uint64_t base = saved == RegisterLocation::AtSp   ? registers_.sp
                               : saved == RegisterLocation::AtBp ? registers_.bp
                                                                 : cfa;
    return base + static_cast<std::uint64_t>(std::int64_t{offset});
  }

  Step read(std::uint64_t address, std::uint64_t& value) const {
    if (stack_.read(address, value)) return std::nullopt;
    if (is_on_other_stack_) return WalkEnd::OtherStack;
    return address - stack_.start < kMaxStackSize ? WalkEnd::EndOfCopy : WalkEnd::Failed;
  }

  Unwinder& unwinder_;
  const AddressSpace& space_;
  const StackCopy& stack_;
  std::vector<Frame>& frames_;
  Registers registers_;
  const CodeRange* range_ = nullptr;    // contains the last frame
  bool is_current_instruction_ = true;  // ip is the current instruction, not a return address
  bool is_guessed_ = false;
  bool is_in_pointer_chain_ = false;  // this frame was reached through the chain of frame pointers
  bool is_made_up_address_ = false;   // no call precedes the return address
  bool is_on_other_stack_ = false;    // the walk continues on a stack that was not copied
  bool is_beyond_copy_ = false;       // a guess led beyond the copy of the stack
};

Unwinder::Unwinder(Modules& modules, std::uint16_t machine)
    : modules_(modules), address_mask_(machine == EM_AARCH64 ? kAddressBits : UINT64_MAX) {}

WalkEnd Unwinder::walk(const AddressSpace& space, const Registers& registers,
                       const StackCopy& stack, std::vector<Frame>& frames, std::size_t max_frames) {
  frames.clear();
  return Walk(*this, space, registers, stack, frames).run(max_frames);
}

WalkEnd Unwinder::make_frames(const AddressSpace& space,
                              const std::vector<std::uint64_t>& addresses,
                              std::vector<Frame>& frames) {
  frames.clear();
  bool is_root = addresses.empty();
  for (const std::uint64_t address : addresses) {
    const std::uint64_t ip = frames.empty() ? address : (address & address_mask_) - 1;
    const CodeRange* range = space.find(ip);
    if (!range && frames.empty()) frames.push_back({ip, Modules::kUnknown, false});
    if (!range) return WalkEnd::Failed;
    const std::uint64_t offset = ip - range->start + range->offset;
    frames.push_back({offset, range->module, false});
    const UnwindRule& rule = find_rule(space.process(), *range, offset);
    is_root = (rule.cfa != Cfa::None && rule.ra == RegisterLocation::Undefined) ||
              modules_.is_program_start(frames.back());
  }
  return is_root ? WalkEnd::Root : WalkEnd::Failed;
}

const UnwindRule& Unwinder::find_rule(std::uint64_t process, const CodeRange& range,
                                      std::uint64_t offset) {
  if (offset >= RuleCache::kOffsetLimit) return kNoRule;
  const std::uint64_t key = RuleCache::make_key(range.module, offset);
  if (const UnwindRule* known = rules_.find(key)) return *known;
  auto rule = modules_.find_rule(process, range, offset);
  if (!rule) return kNoRule;
  rule->key = key;
  rules_.insert(*rule);
  return *rules_.find(key);
}

const CodeGuess& Unwinder::find_guess(std::uint64_t process, const CodeRange& range,
                                      std::uint64_t offset) {
  static const CodeGuess kNothing;
  if (offset >= RuleCache::kOffsetLimit || !modules_.file(range.module)) return kNothing;
  const std::uint64_t key = RuleCache::make_key(range.module, offset);
  if (const auto known = guesses_.find(key); known != guesses_.end()) return known->second;
  if (guesses_.size() == kMaxGuesses) guesses_.clear();
  return guesses_.emplace(key, modules_.guess_frame(process, range, offset)).first->second;
}

std::optional<bool> Unwinder::follows_call(std::uint64_t process, const CodeRange& range,
                                           std::uint64_t offset) {
  if (offset >= RuleCache::kOffsetLimit) return std::nullopt;
  const std::uint64_t key = RuleCache::make_key(range.module, offset);
  if (const auto known = follows_call_.find(key); known != follows_call_.end())
    return known->second;
  const auto is_after_call = modules_.follows_call(process, range, offset);
  if (!is_after_call) return std::nullopt;  // a later attempt may open its file
  if (follows_call_.size() == kMaxGuesses) follows_call_.clear();
  follows_call_.emplace(key, *is_after_call);
  return is_after_call;
}

}  // namespace ctprof
