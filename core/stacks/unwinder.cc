#include "core/stacks/unwinder.hpp"

#include <optional>
#include <span>
#include <utility>

namespace ctprof {
namespace {

constexpr Rule kNoRule{};
// Limit on cached addresses whose preceding instruction is known.
constexpr std::size_t kMostCalls = 64 << 10;
// An address further beyond the copy than this is invalid, not in a part that was not copied.
constexpr std::uint64_t kLargestStack = 1ULL << 30;
// User addresses have 48 bits; the bits above may contain a signature.
constexpr std::uint64_t kUnsignedAddress = (1ULL << 48) - 1;

}  // namespace

class Walk {
 public:
  Walk(Unwinder& unwinder, const AddressSpace& space, const Registers& registers,
       const StackCopy& stack, std::vector<Frame>& frames)
      : unwinder_(unwinder), space_(space), stack_(stack), frames_(frames), at_(registers) {}

  Ending run(std::size_t most) {
    for (;;) {
      const Rule* rule = enter();
      if (!rule) return is_elsewhere_ ? Ending::Elsewhere : Ending::Lost;
      if (is_made_up_ && unwinder_.modules_.is_start_context(range_->module, code_offset()))
        return Ending::Root;
      if (const auto ending = rule->cfa == Cfa::None ? guess() : follow(*rule))
        return *ending == Ending::Lost && is_elsewhere_ ? Ending::Elsewhere : *ending;
      if (frames_.size() >= most) return Ending::Deep;
    }
  }

 private:
  using Step = std::optional<Ending>;  // nothing: the walk continues

  // Adds the current frame and returns its rule; null if there is no code here. A call that never
  // returns may be the last instruction of its function, so the address of the call is used, not
  // the next one. The kernel (for a signal) or assembly may make up a return address. No call
  // precedes such an address, so it is used itself.
  const Rule* enter() {
    const std::uint64_t ip = is_exact_ ? at_.ip : at_.ip - 1;
    if (!range_ || ip - range_->start >= range_->end - range_->start) range_ = space_.find(ip);
    if (!range_) {
      if (frames_.empty()) frames_.push_back({ip, Modules::kUnknown, is_guessed_});
      return nullptr;
    }
    std::uint64_t offset = ip - range_->start + range_->offset;
    const Rule* rule = &rule_at(offset);
    const bool is_call = rule->cfa != Cfa::None && !rule->is_signal;
    is_made_up_ = false;
    if (!is_call && !is_exact_ && at_.ip < range_->end) {
      rule = &rule_at(offset + 1);
      is_made_up_ = rule->cfa != Cfa::None;
      offset += is_made_up_;
    }
    frames_.push_back({offset, range_->module, is_guessed_});
    return rule;
  }
  const Rule& rule_at(std::uint64_t offset) {
    return unwinder_.rule_at(space_.process(), *range_, offset);
  }

  Step follow(const Rule& rule) {
    is_in_chain_ = false;
    if (rule.ra == Saved::Nowhere) return Ending::Root;
    if (rule.ra == Saved::Elsewhere) return Ending::Elsewhere;
    std::uint64_t cfa = 0;
    if (const Step failed = find_cfa(rule, cfa)) return failed;
    const bool grows = cfa > at_.sp || (cfa == at_.sp && is_exact_);
    if (!grows && !rule.is_signal) return Ending::Lost;
    Registers caller{0, cfa, at_.bp, 0};
    if (const Step failed = find_ip(rule, cfa, caller.ip)) return failed;
    if (const Step failed = find_bp(rule, cfa, caller.bp)) return failed;
    return go_to(caller, rule.is_signal);
  }

  // Finds the caller of code without call frame information. It tries, by certainty: a path to a
  // return instruction, the chain of frame pointers, possible paths, and the top of the stack of a
  // leaf. Each must lead to a return address, which follows a call.
  Step guess() {
    const bool is_in_chain = std::exchange(is_in_chain_, false);
    is_guessed_ = true;
    if (const auto caller = caller_of_trampoline()) return go_to(*caller, false);
    const CodeGuess& guess = unwinder_.guess_at(space_.process(), *range_, code_offset());
    const std::size_t certain = guess.returns ? 1 : 0;
    const auto rules = std::span(guess.rules);
    if (certain > 0 && rules.front().is_signal) return return_from_signal(rules.front());
    if (certain > 0 && follow_guess(rules.front())) return std::nullopt;
    if (unwinder_.modules_.is_start(frames_.back())) return Ending::Root;
    if (guess.is_in_register) return Ending::Lost;
    const Step chained = follow_chain(is_in_chain);
    if (!chained || *chained == Ending::Root) return chained;
    for (const Rule& rule : rules.subspan(certain))
      if (follow_guess(rule)) return std::nullopt;
    if (is_exact_ && range_is_file() && take_top()) return std::nullopt;
    // The first function of a thread never returns, and has no frame pointer.
    if (at_.bp == 0 && certain == 0 && !is_exact_ && !is_cut_) return Ending::Root;
    return is_cut_ ? Ending::Cut : *chained;
  }
  std::uint64_t code_offset() const { return at_.ip - range_->start + range_->offset; }
  bool range_is_file() const {
    return unwinder_.modules_[range_->module].kind == Module::Kind::File;
  }

  bool take_top() {
    constexpr Rule kOnTop{.cfa_offset = 8, .ra_offset = -8, .cfa = Cfa::Sp, .ra = Saved::AtCfa};
    const bool was_cut = is_cut_;
    const bool is_taken = follow_guess(kOnTop);
    is_cut_ = was_cut;
    return is_taken;
  }

  // The address is a made-up return address, so no call precedes it.
  Step return_from_signal(const Rule& rule) {
    frames_.back().offset = code_offset();
    return follow(rule);
  }

  // Returns false if the rule leads to no return address.
  bool follow_guess(const Rule& rule) {
    std::uint64_t cfa = 0;
    if (find_cfa(rule, cfa) || cfa <= at_.sp) return false;
    Registers caller{0, cfa, at_.bp, 0};
    const Step failed = find_ip(rule, cfa, caller.ip);
    is_cut_ |= failed == Ending::Cut;
    if (failed || find_bp(rule, cfa, caller.bp) || is_return(caller.ip) != true) return false;
    go_to(caller, false);
    return true;
  }

  // Follows the frame pointer: the caller's bp is at bp, the return address above it. A chain of
  // frames ends with a bp of zero. Outside a chain, zero has no special meaning: C libraries clear
  // bp when they start a thread, and functions without a frame do not change it.
  Step follow_chain(bool is_in_chain) {
    if (at_.bp == 0) return is_in_chain ? Ending::Root : Ending::Lost;
    if (at_.bp < at_.sp || at_.bp % sizeof at_.bp != 0) return Ending::Lost;
    Registers caller{0, at_.bp + 2 * sizeof at_.bp, 0, 0};
    if (const Step failed = read(at_.bp, caller.bp)) return failed;
    if (const Step failed = read(at_.bp + sizeof at_.bp, caller.ip)) return failed;
    if (caller.ip == 0) return caller.bp == 0 ? Ending::Root : Ending::Lost;
    if (is_return(caller.ip) == false) return Ending::Lost;
    is_in_chain_ = true;
    return go_to(caller, false);
  }

  // Returns nothing if the code cannot be read, as that of just-in-time compilers.
  std::optional<bool> is_return(std::uint64_t ip) const {
    const CodeRange* range = ip == 0 ? nullptr : space_.find(ip - 1);
    if (!range) return std::nullopt;
    return unwinder_.follows_call(space_.process(), *range, ip - range->start + range->offset);
  }

  // Finds the caller of a trampoline. Python's frames for perf (-X perf) are generated code that
  // only calls back into the interpreter: sub $8,%rsp; call *%rcx; add $8,%rsp; ret. They do not
  // change bp. Returns nothing unless the return address follows a call in the file of the callee.
  std::optional<Registers> caller_of_trampoline() const {
    constexpr std::uint64_t kPadding = 8, kFrameSize = 16;
    const bool is_generated =
        range_ && unwinder_.modules_[range_->module].kind == Module::Kind::Anonymous;
    Registers caller{0, at_.sp + kFrameSize, at_.bp, 0};
    if (!is_generated || is_exact_ || frames_.size() < 2) return std::nullopt;
    if (!stack_.read(at_.sp + kPadding, caller.ip)) return std::nullopt;
    const CodeRange* range = space_.find(caller.ip - 1);
    const bool is_in_callee = range && range->module == frames_[frames_.size() - 2].module;
    if (!is_in_callee || is_return(caller.ip) != true) return std::nullopt;
    return caller;
  }

  Step go_to(const Registers& caller, bool is_exact) {
    at_ = caller;
    // A signal may be handled on its own stack; then the interrupted code used another one.
    if (is_exact && at_.sp - stack_.start >= stack_.bytes.size()) is_elsewhere_ = true;
    at_.ip &= unwinder_.address_mask_;
    is_exact_ = is_exact;
    return at_.ip == 0 ? Step(Ending::Root) : std::nullopt;
  }

  Step find_cfa(const Rule& rule, std::uint64_t& cfa) const {
    const auto offset = static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    switch (rule.cfa) {
      case Cfa::Sp: cfa = at_.sp + offset; return std::nullopt;
      case Cfa::Bp: cfa = at_.bp + offset; return std::nullopt;
      case Cfa::AtSp: return read_cfa(at_.sp + offset, rule.cfa_added, cfa);
      case Cfa::AtBp: return read_cfa(at_.bp + offset, rule.cfa_added, cfa);
      default: return Ending::Lost;
    }
  }
  Step read_cfa(std::uint64_t address, std::int16_t added, std::uint64_t& cfa) const {
    if (const Step failed = read(address, cfa)) return failed;
    cfa += static_cast<std::uint64_t>(std::int64_t{added});
    return std::nullopt;
  }

  // lr (on x86-64 rdi, only in vfork(2)) contains the return address only of the innermost
  // function, before it calls another.
  Step find_ip(const Rule& rule, std::uint64_t cfa, std::uint64_t& ip) const {
    if (rule.ra == Saved::Unknown) return Ending::Lost;
    if (rule.ra != Saved::Same) return read(place_of(rule.ra, rule.ra_offset, cfa), ip);
    ip = at_.lr;
    return is_exact_ && ip != 0 ? std::nullopt : Step(Ending::Lost);
  }

  // In an epilogue, compilers keep the location from which bp was already popped: below sp. Then
  // the register is correct.
  Step find_bp(const Rule& rule, std::uint64_t cfa, std::uint64_t& bp) const {
    if (rule.bp == Saved::Same || rule.bp == Saved::Nowhere || rule.bp == Saved::Unknown)
      return std::nullopt;
    const std::uint64_t place = place_of(rule.bp, rule.bp_offset, cfa);
    if (rule.bp == Saved::AtCfa && place < at_.sp) return std::nullopt;
    return read(place, bp);
  }

  std::uint64_t place_of(Saved saved, std::int32_t offset, std::uint64_t cfa) const {
    const std::uint64_t base = saved == Saved::AtSp ? at_.sp : saved == Saved::AtBp ? at_.bp : cfa;
    return base + static_cast<std::uint64_t>(std::int64_t{offset});
  }

  Step read(std::uint64_t address, std::uint64_t& value) const {
    if (stack_.read(address, value)) return std::nullopt;
    if (is_elsewhere_) return Ending::Elsewhere;
    return address - stack_.start < kLargestStack ? Ending::Cut : Ending::Lost;
  }

  Unwinder& unwinder_;
  const AddressSpace& space_;
  const StackCopy& stack_;
  std::vector<Frame>& frames_;
  Registers at_;
  const CodeRange* range_ = nullptr;  // contains the last frame
  bool is_exact_ = true;              // ip is the current instruction, not a return address
  bool is_guessed_ = false;
  bool is_in_chain_ = false;   // this frame was reached through the chain of frame pointers
  bool is_made_up_ = false;    // no call precedes the return address
  bool is_elsewhere_ = false;  // the walk continues on a stack that was not copied
  bool is_cut_ = false;        // a guess led beyond the copy of the stack
};

Unwinder::Unwinder(Modules& modules, std::uint16_t machine)
    : modules_(modules), address_mask_(machine == EM_AARCH64 ? kUnsignedAddress : UINT64_MAX) {}

Ending Unwinder::walk(const AddressSpace& space, const Registers& registers, const StackCopy& stack,
                      std::vector<Frame>& frames, std::size_t most) {
  frames.clear();
  return Walk(*this, space, registers, stack, frames).run(most);
}

Ending Unwinder::place(const AddressSpace& space, const std::vector<std::uint64_t>& addresses,
                       std::vector<Frame>& frames) {
  frames.clear();
  bool is_root = addresses.empty();
  for (const std::uint64_t address : addresses) {
    const std::uint64_t ip = frames.empty() ? address : (address & address_mask_) - 1;
    const CodeRange* range = space.find(ip);
    if (!range && frames.empty()) frames.push_back({ip, Modules::kUnknown, false});
    if (!range) return Ending::Lost;
    const std::uint64_t offset = ip - range->start + range->offset;
    frames.push_back({offset, range->module, false});
    const Rule& rule = rule_at(space.process(), *range, offset);
    is_root =
        (rule.cfa != Cfa::None && rule.ra == Saved::Nowhere) || modules_.is_start(frames.back());
  }
  return is_root ? Ending::Root : Ending::Lost;
}

const Rule& Unwinder::rule_at(std::uint64_t process, const CodeRange& range, std::uint64_t offset) {
  if (offset >= RuleCache::kMostOffset) return kNoRule;
  const std::uint64_t key = RuleCache::key_of(range.module, offset);
  if (const Rule* known = rules_.find(key)) return *known;
  auto rule = modules_.rule_at(process, range, offset);
  if (!rule) return kNoRule;
  rule->key = key;
  rules_.insert(*rule);
  return *rules_.find(key);
}

const CodeGuess& Unwinder::guess_at(std::uint64_t process, const CodeRange& range,
                                    std::uint64_t offset) {
  static const CodeGuess kNothing;
  if (offset >= RuleCache::kMostOffset || !modules_.file(range.module)) return kNothing;
  const std::uint64_t key = RuleCache::key_of(range.module, offset);
  if (const auto known = guesses_.find(key); known != guesses_.end()) return known->second;
  if (guesses_.size() == kMostGuesses) guesses_.clear();
  return guesses_.emplace(key, modules_.guess_at(process, range, offset)).first->second;
}

std::optional<bool> Unwinder::follows_call(std::uint64_t process, const CodeRange& range,
                                           std::uint64_t offset) {
  if (offset >= RuleCache::kMostOffset) return std::nullopt;
  const std::uint64_t key = RuleCache::key_of(range.module, offset);
  if (const auto known = calls_.find(key); known != calls_.end()) return known->second;
  const auto follows = modules_.follows_call(process, range, offset);
  if (!follows) return std::nullopt;  // a later attempt may open its file
  if (calls_.size() == kMostGuesses) calls_.clear();
  calls_.emplace(key, *follows);
  return follows;
}

}  // namespace ctprof
