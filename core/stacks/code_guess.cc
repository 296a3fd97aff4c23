#include "core/stacks/code_guess.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/x86_code.hpp"

namespace ctprof {
namespace {

using Kind = StackInstruction::Kind;

constexpr std::int64_t kStackWord = 8;
// Compilers and assemblers align functions to this, and fill the space before them with nops.
constexpr std::uint64_t kAlignment = 16;
// Limits on function starts that are tried, and on their distance.
constexpr std::size_t kMaxFunctionStarts = 2, kMaxFunctionStartDistance = 2048;
constexpr std::size_t kMaxPaths = 64, kMaxPushes = 16;

// A stack location, relative to the values of sp or bp at the address to unwind.
struct StackLocation {
  Cfa base = Cfa::Sp;
  std::int64_t offset = 0;
  bool operator==(const StackLocation&) const = default;
};

struct BpValue {
  enum class State : std::uint8_t { Same, Address, Stored, Unknown };
  State state = State::Same;
  StackLocation place;  // the address, or where it is stored
};

// Registers on one path through the code.
struct Path {
  std::size_t at = 0;
  StackLocation sp;
  BpValue bp;
  // A value that this path pushes. The copy of the stack was taken earlier and does not contain it.
  struct Push {
    StackLocation place;
    BpValue value;
  };
  std::vector<Push> pushes;

  const Push* find_push(const StackLocation& place) const {
    const auto found = std::find_if(pushes.rbegin(), pushes.rend(),
                                    [&](const Push& push) { return push.place == place; });
    return found == pushes.rend() ? nullptr : &*found;
  }
};

std::optional<std::int32_t> to_int32(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (value < Limits::min() || value > Limits::max()) return std::nullopt;
  return static_cast<std::int32_t>(value);
}

// Returns the rule for a return address that sp points to; nothing if the path pushed it from a
// register.
std::optional<UnwindRule> make_rule(const Path& path) {
  const auto offset = to_int32(path.sp.offset + kStackWord);
  if (!offset || path.find_push(path.sp)) return std::nullopt;
  UnwindRule rule;
  rule.cfa = path.sp.base;
  rule.cfa_offset = *offset;
  rule.ra = RegisterLocation::AtCfa;
  rule.ra_offset = -static_cast<std::int32_t>(kStackWord);
  rule.bp =
      path.bp.state == BpValue::State::Same ? RegisterLocation::Same : RegisterLocation::Unknown;
  if (path.bp.state != BpValue::State::Stored) return rule;
  const auto stored = to_int32(path.bp.place.offset);
  if (!stored) return std::nullopt;
  rule.bp = path.bp.place.base == Cfa::Sp ? RegisterLocation::AtSp : RegisterLocation::AtBp;
  rule.bp_offset = *stored;
  return rule;
}

// Returns the rule of a signal frame: the offsets of the registers in its ucontext from sp.
UnwindRule make_signal_rule() {
  UnwindRule rule;
  rule.cfa = Cfa::AtSp;
  rule.cfa_offset = 160;
  rule.ra = rule.bp = RegisterLocation::AtSp;
  rule.ra_offset = 168;
  rule.bp_offset = 120;
  rule.is_signal = true;
  return rule;
}

// Returns whether the code is padding up to the next function or loop.
bool is_padding(std::string_view code, std::size_t at, std::uint64_t start) {
  while ((start + at) % kAlignment != 0) {
    const std::string_view rest = code.substr(std::min(at, code.size()));
    const StackInstruction next = decode_x86(rest);
    const auto byte = rest.empty() ? 0 : static_cast<std::uint8_t>(rest.front());
    // nop and int3; the long forms are 0f 1f with or without a prefix.
    const bool is_nop = byte == 0x90 || byte == 0xcc ||
                        (next.kind == Kind::Other && next.size >= 2 &&
                         rest.substr(0, next.size).find("\x0f\x1f") != rest.npos) ||
                        rest.starts_with("\x66\x90");
    if (!is_nop || next.size == 0) return false;
    at += next.size;
  }
  return true;
}

// Follows code forwards until a path through it returns.
class ForwardSearch {
 public:
  ForwardSearch(std::string_view code, std::uint64_t start, std::size_t& remaining)
      : code_(code), start_(start), remaining_(remaining) {}

  std::optional<UnwindRule> run(std::size_t at) {
    Path first;
    first.at = at;
    paths_.push_back(std::move(first));
    return follow_all();
  }
  // Continues along paths over the padding after a call: the call may never return, and then the
  // code after it belongs to another function.
  std::optional<UnwindRule> run_after_padding() {
    paths_ = std::exchange(paths_over_padding_, {});
    return follow_all();
  }
  // Returns rules for paths that leave the function by a jump, perhaps to a function that returns
  // to the caller.
  const std::vector<UnwindRule>& get_tail_rules() const { return tail_rules_; }
  bool is_in_register() const { return is_in_register_; }

 private:
  std::optional<UnwindRule> follow_all() {
    std::optional<UnwindRule> found;
    while (!paths_.empty() && !found && !is_in_register_) {
      Path path = std::move(paths_.back());
      paths_.pop_back();
      found = follow(path);
    }
    return found;
  }

  std::optional<UnwindRule> follow(Path& path) {
    while (remaining_ > 0 && path.at < code_.size() && visited_.insert(path.at).second) {
      --remaining_;
      const StackInstruction next = decode_x86(code_.substr(path.at));
      path.at += next.size;
      if (next.kind == Kind::Return) {
        is_in_register_ = path.find_push(path.sp) != nullptr;
        return make_rule(path);
      }
      if (!step(path, next)) return std::nullopt;
    }
    return std::nullopt;
  }

  // Returns false if the path ends here.
  bool step(Path& path, const StackInstruction& next) {
    switch (next.kind) {
      case Kind::Invalid:
      case Kind::Trap:
      case Kind::ChangesSp: return false;
      case Kind::Call: return step_over_call(path);
      case Kind::Jump: return jump(path, next.operand);
      case Kind::Branch: return branch(path, next.operand);
      case Kind::IndirectJump: return leave_function(path);
      default: return apply(path, next);
    }
  }

  bool step_over_call(Path& path) {
    const bool is_aligned = (start_ + path.at) % kAlignment == 0;
    if (is_aligned || !is_padding(code_, path.at, start_)) return true;
    if (paths_over_padding_.size() < kMaxPaths) paths_over_padding_.push_back(path);
    return false;
  }

  std::optional<std::size_t> find_target(const Path& path, std::int64_t distance) const {
    const std::int64_t target = static_cast<std::int64_t>(path.at) + distance;
    if (target < 0 || target >= static_cast<std::int64_t>(code_.size())) return std::nullopt;
    return static_cast<std::size_t>(target);
  }
  bool jump(Path& path, std::int64_t distance) {
    const auto target_offset = find_target(path, distance);
    if (!target_offset) return leave_function(path);
    path.at = *target_offset;
    return true;
  }
  bool branch(Path& path, std::int64_t distance) {
    const auto target_offset = find_target(path, distance);
    if (!target_offset || paths_.size() >= kMaxPaths) return true;
    paths_.push_back(path);
    paths_.back().at = *target_offset;
    return true;
  }
  bool leave_function(const Path& path) {
    if (const auto rule = make_rule(path); rule && tail_rules_.size() < CodeGuess::kMaxRules)
      tail_rules_.push_back(*rule);
    return false;
  }

  bool apply(Path& path, const StackInstruction& next) {
    switch (next.kind) {
      case Kind::Push: return push(path, {BpValue::State::Unknown, {}});
      case Kind::PushBp: return push(path, path.bp);
      case Kind::Pop: path.sp.offset += kStackWord; return true;
      case Kind::PopBp: pop_bp(path); return true;
      case Kind::AddSp: path.sp.offset += next.operand; return true;
      case Kind::BpFromSp:
        path.bp = {BpValue::State::Address, {path.sp.base, path.sp.offset + next.operand}};
        return true;
      case Kind::ChangesBp: path.bp = {BpValue::State::Unknown, {}}; return true;
      case Kind::SpFromBp: return set_sp_from_bp(path, next.operand);
      case Kind::Leave:
        if (!set_sp_from_bp(path, 0)) return false;
        pop_bp(path);
        return true;
      default: return true;
    }
  }

  static bool push(Path& path, const BpValue& value) {
    path.sp.offset -= kStackWord;
    if (path.pushes.size() == kMaxPushes) return false;
    path.pushes.push_back({path.sp, value});
    return true;
  }
  static void pop_bp(Path& path) {
    const Path::Push* pushed = path.find_push(path.sp);
    path.bp = pushed ? pushed->value : BpValue{BpValue::State::Stored, path.sp};
    path.sp.offset += kStackWord;
  }
  static bool set_sp_from_bp(Path& path, std::int64_t added) {
    if (path.bp.state == BpValue::State::Same) path.sp = {Cfa::Bp, 0};
    if (path.bp.state == BpValue::State::Address) path.sp = path.bp.place;
    path.sp.offset += added;
    return path.bp.state == BpValue::State::Same || path.bp.state == BpValue::State::Address;
  }

  std::string_view code_;
  std::uint64_t start_;
  std::size_t& remaining_;
  std::vector<Path> paths_, paths_over_padding_;
  std::unordered_set<std::size_t, SeededHash> visited_;
  std::vector<UnwindRule> tail_rules_;
  bool is_in_register_ = false;
};

// Counts the bytes that a function pushes from its beginning on.
class PushCounter {
 public:
  PushCounter(std::string_view code, std::size_t& remaining) : code_(code), remaining_(remaining) {}

  // Returns the rule at `at` of a function that begins at `begin`; nothing if the code in between
  // does not lead there.
  std::optional<UnwindRule> run(std::size_t begin, std::size_t at) {
    std::size_t position = begin;
    while (position < at) {
      if (remaining_ == 0) return std::nullopt;
      --remaining_;
      const StackInstruction next = decode_x86(code_.substr(position));
      if (next.kind == Kind::Invalid || next.kind == Kind::ChangesSp) return std::nullopt;
      position += next.size;
      if (!step(position, next)) return std::nullopt;
    }
    if (position != at || depth_ < 0) return std::nullopt;
    const auto offset = to_int32(depth_ + kStackWord);
    if (!offset) return std::nullopt;
    UnwindRule rule;
    rule.cfa = Cfa::Sp;
    rule.cfa_offset = *offset;
    rule.ra = RegisterLocation::AtCfa;
    rule.ra_offset = -static_cast<std::int32_t>(kStackWord);
    if (!bp_depth_) return rule;
    rule.bp = RegisterLocation::AtCfa;
    rule.bp_offset = -static_cast<std::int32_t>(*bp_depth_ + kStackWord);
    return rule;
  }

 private:
  // Returns false if the function ends here.
  bool step(std::size_t next_at, const StackInstruction& next) {
    switch (next.kind) {
      case Kind::PushBp:
        if (!bp_depth_) bp_depth_ = depth_ + kStackWord;
        [[fallthrough]];
      case Kind::Push: depth_ += kStackWord; break;
      case Kind::Pop:
      case Kind::PopBp: depth_ -= kStackWord; break;
      case Kind::AddSp: depth_ -= next.operand; break;
      case Kind::Branch: record_target(next_at, next.operand); break;
      case Kind::Jump: record_target(next_at, next.operand); [[fallthrough]];
      case Kind::Return:
      case Kind::Trap:
      case Kind::IndirectJump: return resume(next_at);
      default: break;
    }
    max_depth_ = std::max(max_depth_, depth_);
    return true;
  }
  void record_target(std::size_t at, std::int64_t distance) {
    const std::int64_t target = static_cast<std::int64_t>(at) + distance;
    depth_by_target_.emplace(target, depth_);
    farthest_target_ = std::max(farthest_target_, target);
  }
  // Continues after a jump: the next code is reached from elsewhere, or belongs to another
  // function.
  bool resume(std::size_t at) {
    const auto known = depth_by_target_.find(static_cast<std::int64_t>(at));
    depth_ = known == depth_by_target_.end() ? max_depth_ : known->second;
    return farthest_target_ >= static_cast<std::int64_t>(at);
  }

  std::string_view code_;
  std::size_t& remaining_;
  std::int64_t depth_ = 0, max_depth_ = 0, farthest_target_ = 0;
  std::optional<std::int64_t> bp_depth_;
  std::unordered_map<std::int64_t, std::int64_t, SeededHash> depth_by_target_;
};

// Returns whether the code can be the beginning of a function that needs a frame.
bool is_function_start(std::string_view code) {
  if (code.starts_with("\xf3\x0f\x1e\xfa")) return true;  // endbr64
  const StackInstruction first = decode_x86(code);
  return first.kind == Kind::Push || first.kind == Kind::PushBp ||
         (first.kind == Kind::AddSp && first.operand < 0);
}

bool are_equal_rules(const UnwindRule& left, const UnwindRule& right) {
  return left.cfa == right.cfa && left.cfa_offset == right.cfa_offset && left.bp == right.bp &&
         left.bp_offset == right.bp_offset;
}

void add_rule(CodeGuess& guess, const UnwindRule& rule) {
  const auto is_same_rule = [&](const UnwindRule& other) { return are_equal_rules(other, rule); };
  if (guess.rules.size() < CodeGuess::kMaxRules && std::ranges::none_of(guess.rules, is_same_rule))
    guess.rules.push_back(rule);
}

void add_from_function_starts(CodeGuess& guess, std::string_view code, std::size_t at,
                              std::uint64_t start, std::size_t& remaining) {
  std::size_t found = 0;
  const std::size_t first = at - std::min(at, kMaxFunctionStartDistance);
  std::size_t begin = at - std::min<std::size_t>(at, (start + at) % kAlignment);
  for (; begin >= first && found < kMaxFunctionStarts && remaining > 0; begin -= kAlignment) {
    if (begin < at && is_function_start(code.substr(begin)))
      if (const auto rule = PushCounter(code, remaining).run(begin, at)) {
        add_rule(guess, *rule);
        ++found;
      }
    if (begin < kAlignment) break;
  }
}

}  // namespace

bool is_signal_return(std::string_view code) {
  constexpr std::string_view kWide("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
  constexpr std::string_view kNarrow("\xb8\x0f\0\0\0\x0f\x05", 7);
  return code.starts_with(kWide) || code.starts_with(kNarrow);
}

// mov %rbx,%rsp; mov (%rsp),%rdi or pop %rdi; test %rdi,%rdi
bool is_start_context_code(std::string_view code) {
  constexpr std::string_view kSwitchStack("\x48\x89\xdc"), kLoad("\x48\x8b\x3c\x24"), kPop("\x5f"),
      kTest("\x48\x85\xff");
  if (code.starts_with("\xf3\x0f\x1e\xfa")) code.remove_prefix(4);
  if (!code.starts_with(kSwitchStack)) return false;
  code.remove_prefix(kSwitchStack.size());
  for (const std::string_view next : {kLoad, kPop})
    if (code.starts_with(next)) return code.substr(next.size()).starts_with(kTest);
  return false;
}

CodeGuess guess_from_code(std::string_view code, std::size_t at, std::uint64_t start) {
  CodeGuess guess;
  if (is_signal_return(code.substr(at)))
    return {{make_signal_rule()}, true, false, kStepsPerInstruction};
  std::size_t remaining = kMaxInstructions;
  ForwardSearch forwards(code, start, remaining);
  if (const auto rule = forwards.run(at)) {
    guess.has_return_path = true;
    add_rule(guess, *rule);
  } else if (forwards.is_in_register()) {
    guess.is_return_in_register = true;
  } else {
    for (const UnwindRule& tail : forwards.get_tail_rules()) add_rule(guess, tail);
    add_from_function_starts(guess, code, at, start, remaining);
    if (const auto padded_rule = forwards.run_after_padding()) add_rule(guess, *padded_rule);
  }
  guess.steps = (kMaxInstructions - remaining) * kStepsPerInstruction;
  return guess;
}

}  // namespace ctprof
