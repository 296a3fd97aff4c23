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

using Kind = X86Instruction::Kind;

constexpr std::int64_t kStackWord = 8;
// Compilers and assemblers align functions to this, and fill the space before them with nops.
constexpr std::uint64_t kAlignment = 16;
// Limits on function starts that are tried, and on their distance.
constexpr std::size_t kMostBeginnings = 2, kFarthestBeginning = 2048;
constexpr std::size_t kMostWays = 64, kMostPushes = 16;

// A stack location, relative to sp or bp at the address that the guess is for.
struct Place {
  Cfa base = Cfa::Sp;
  std::int64_t offset = 0;
  bool operator==(const Place&) const = default;
};

struct BpValue {
  enum class Is : std::uint8_t { Same, Address, Stored, Unknown };
  Is is = Is::Same;
  Place place;  // the address, or where it is stored
};

// Registers on one path through the code.
struct Way {
  std::size_t at = 0;
  Place sp;
  BpValue bp;
  // A push on this path: the copy of the stack, which is older, does not contain it.
  struct Push {
    Place place;
    BpValue value;
  };
  std::vector<Push> pushes;

  const Push* find_push(const Place& place) const {
    const auto found = std::find_if(pushes.rbegin(), pushes.rend(),
                                    [&](const Push& push) { return push.place == place; });
    return found == pushes.rend() ? nullptr : &*found;
  }
};

std::optional<std::int32_t> narrow(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (value < Limits::min() || value > Limits::max()) return std::nullopt;
  return static_cast<std::int32_t>(value);
}

// Returns the rule for a return address that sp points to; nothing if the path pushed it from a
// register.
std::optional<Rule> rule_of(const Way& way) {
  const auto offset = narrow(way.sp.offset + kStackWord);
  if (!offset || way.find_push(way.sp)) return std::nullopt;
  Rule rule;
  rule.cfa = way.sp.base;
  rule.cfa_offset = *offset;
  rule.ra = Saved::AtCfa;
  rule.ra_offset = -static_cast<std::int32_t>(kStackWord);
  rule.bp = way.bp.is == BpValue::Is::Same ? Saved::Same : Saved::Unknown;
  if (way.bp.is != BpValue::Is::Stored) return rule;
  const auto stored = narrow(way.bp.place.offset);
  if (!stored) return std::nullopt;
  rule.bp = way.bp.place.base == Cfa::Sp ? Saved::AtSp : Saved::AtBp;
  rule.bp_offset = *stored;
  return rule;
}

// Returns the rule of a signal frame: the offsets of the registers in its ucontext from sp.
Rule signal_rule() {
  Rule rule;
  rule.cfa = Cfa::AtSp;
  rule.cfa_offset = 160;
  rule.ra = rule.bp = Saved::AtSp;
  rule.ra_offset = 168;
  rule.bp_offset = 120;
  rule.is_signal = true;
  return rule;
}

// Returns whether the code is padding up to the next function or loop.
bool is_padding(std::string_view code, std::size_t at, std::uint64_t start) {
  while ((start + at) % kAlignment != 0) {
    const std::string_view rest = code.substr(std::min(at, code.size()));
    const X86Instruction next = decode_x86(rest);
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
class Forwards {
 public:
  Forwards(std::string_view code, std::uint64_t start, std::size_t& left)
      : code_(code), start_(start), left_(left) {}

  std::optional<Rule> run(std::size_t at) {
    Way first;
    first.at = at;
    ways_.push_back(std::move(first));
    return follow_all();
  }
  // Continues along paths over the padding after a call: the call may never return, and then the
  // code after it belongs to another function.
  std::optional<Rule> run_behind_padding() {
    ways_ = std::exchange(padded_, {});
    return follow_all();
  }
  // Returns rules for paths that leave the function by a jump, perhaps to a function that returns
  // to the caller.
  const std::vector<Rule>& tails() const { return tails_; }
  bool is_in_register() const { return is_in_register_; }

 private:
  std::optional<Rule> follow_all() {
    std::optional<Rule> found;
    while (!ways_.empty() && !found && !is_in_register_) {
      Way way = std::move(ways_.back());
      ways_.pop_back();
      found = follow(way);
    }
    return found;
  }

  std::optional<Rule> follow(Way& way) {
    while (left_ > 0 && way.at < code_.size() && known_.insert(way.at).second) {
      --left_;
      const X86Instruction next = decode_x86(code_.substr(way.at));
      way.at += next.size;
      if (next.kind == Kind::Return) {
        is_in_register_ = way.find_push(way.sp) != nullptr;
        return rule_of(way);
      }
      if (!step(way, next)) return std::nullopt;
    }
    return std::nullopt;
  }

  // Returns false if the path ends here.
  bool step(Way& way, const X86Instruction& next) {
    switch (next.kind) {
      case Kind::Invalid:
      case Kind::Trap:
      case Kind::ChangesSp: return false;
      case Kind::Call: return step_over_call(way);
      case Kind::Jump: return jump(way, next.operand);
      case Kind::Branch: return branch(way, next.operand);
      case Kind::IndirectJump: return leave_function(way);
      default: return move(way, next);
    }
  }

  bool step_over_call(Way& way) {
    const bool is_aligned = (start_ + way.at) % kAlignment == 0;
    if (is_aligned || !is_padding(code_, way.at, start_)) return true;
    if (padded_.size() < kMostWays) padded_.push_back(way);
    return false;
  }

  std::optional<std::size_t> target(const Way& way, std::int64_t distance) const {
    const std::int64_t to = static_cast<std::int64_t>(way.at) + distance;
    if (to < 0 || to >= static_cast<std::int64_t>(code_.size())) return std::nullopt;
    return static_cast<std::size_t>(to);
  }
  bool jump(Way& way, std::int64_t distance) {
    const auto to = target(way, distance);
    if (!to) return leave_function(way);
    way.at = *to;
    return true;
  }
  bool branch(Way& way, std::int64_t distance) {
    const auto to = target(way, distance);
    if (!to || ways_.size() >= kMostWays) return true;
    ways_.push_back(way);
    ways_.back().at = *to;
    return true;
  }
  bool leave_function(const Way& way) {
    if (const auto rule = rule_of(way); rule && tails_.size() < CodeGuess::kMostRules)
      tails_.push_back(*rule);
    return false;
  }

  bool move(Way& way, const X86Instruction& next) {
    switch (next.kind) {
      case Kind::Push: return push(way, {BpValue::Is::Unknown, {}});
      case Kind::PushBp: return push(way, way.bp);
      case Kind::Pop: way.sp.offset += kStackWord; return true;
      case Kind::PopBp: pop_bp(way); return true;
      case Kind::AddSp: way.sp.offset += next.operand; return true;
      case Kind::BpFromSp:
        way.bp = {BpValue::Is::Address, {way.sp.base, way.sp.offset + next.operand}};
        return true;
      case Kind::ChangesBp: way.bp = {BpValue::Is::Unknown, {}}; return true;
      case Kind::SpFromBp: return take_bp(way, next.operand);
      case Kind::Leave:
        if (!take_bp(way, 0)) return false;
        pop_bp(way);
        return true;
      default: return true;
    }
  }

  static bool push(Way& way, const BpValue& value) {
    way.sp.offset -= kStackWord;
    if (way.pushes.size() == kMostPushes) return false;
    way.pushes.push_back({way.sp, value});
    return true;
  }
  static void pop_bp(Way& way) {
    const Way::Push* pushed = way.find_push(way.sp);
    way.bp = pushed ? pushed->value : BpValue{BpValue::Is::Stored, way.sp};
    way.sp.offset += kStackWord;
  }
  static bool take_bp(Way& way, std::int64_t added) {
    if (way.bp.is == BpValue::Is::Same) way.sp = {Cfa::Bp, 0};
    if (way.bp.is == BpValue::Is::Address) way.sp = way.bp.place;
    way.sp.offset += added;
    return way.bp.is == BpValue::Is::Same || way.bp.is == BpValue::Is::Address;
  }

  std::string_view code_;
  std::uint64_t start_;
  std::size_t& left_;
  std::vector<Way> ways_, padded_;
  std::unordered_set<std::size_t, SeededHash> known_;
  std::vector<Rule> tails_;
  bool is_in_register_ = false;
};

// Counts the bytes that a function pushes from its beginning on.
class FromBeginning {
 public:
  FromBeginning(std::string_view code, std::size_t& left) : code_(code), left_(left) {}

  // Returns the rule at `at` of a function that begins at `begin`; nothing if the code in between
  // does not lead there.
  std::optional<Rule> run(std::size_t begin, std::size_t at) {
    std::size_t now = begin;
    while (now < at) {
      if (left_ == 0) return std::nullopt;
      --left_;
      const X86Instruction next = decode_x86(code_.substr(now));
      if (next.kind == Kind::Invalid || next.kind == Kind::ChangesSp) return std::nullopt;
      now += next.size;
      if (!step(now, next)) return std::nullopt;
    }
    if (now != at || depth_ < 0) return std::nullopt;
    const auto offset = narrow(depth_ + kStackWord);
    if (!offset) return std::nullopt;
    Rule rule;
    rule.cfa = Cfa::Sp;
    rule.cfa_offset = *offset;
    rule.ra = Saved::AtCfa;
    rule.ra_offset = -static_cast<std::int32_t>(kStackWord);
    if (!bp_at_) return rule;
    rule.bp = Saved::AtCfa;
    rule.bp_offset = -static_cast<std::int32_t>(*bp_at_ + kStackWord);
    return rule;
  }

 private:
  // Returns false if the function ends here.
  bool step(std::size_t next_at, const X86Instruction& next) {
    switch (next.kind) {
      case Kind::PushBp:
        if (!bp_at_) bp_at_ = depth_ + kStackWord;
        [[fallthrough]];
      case Kind::Push: depth_ += kStackWord; break;
      case Kind::Pop:
      case Kind::PopBp: depth_ -= kStackWord; break;
      case Kind::AddSp: depth_ -= next.operand; break;
      case Kind::Branch: note_target(next_at, next.operand); break;
      case Kind::Jump: note_target(next_at, next.operand); [[fallthrough]];
      case Kind::Return:
      case Kind::Trap:
      case Kind::IndirectJump: return resume(next_at);
      default: break;
    }
    deepest_ = std::max(deepest_, depth_);
    return true;
  }
  void note_target(std::size_t at, std::int64_t distance) {
    const std::int64_t target = static_cast<std::int64_t>(at) + distance;
    depths_.emplace(target, depth_);
    farthest_ = std::max(farthest_, target);
  }
  // Continues after a jump: the next code is reached from elsewhere, or belongs to another
  // function.
  bool resume(std::size_t at) {
    const auto known = depths_.find(static_cast<std::int64_t>(at));
    depth_ = known == depths_.end() ? deepest_ : known->second;
    return farthest_ >= static_cast<std::int64_t>(at);
  }

  std::string_view code_;
  std::size_t& left_;
  std::int64_t depth_ = 0, deepest_ = 0, farthest_ = 0;
  std::optional<std::int64_t> bp_at_;
  std::unordered_map<std::int64_t, std::int64_t, SeededHash> depths_;
};

// Returns whether the code can be the beginning of a function that needs a frame.
bool is_beginning(std::string_view code) {
  if (code.starts_with("\xf3\x0f\x1e\xfa")) return true;  // endbr64
  const X86Instruction first = decode_x86(code);
  return first.kind == Kind::Push || first.kind == Kind::PushBp ||
         (first.kind == Kind::AddSp && first.operand < 0);
}

bool is_same(const Rule& left, const Rule& right) {
  return left.cfa == right.cfa && left.cfa_offset == right.cfa_offset && left.bp == right.bp &&
         left.bp_offset == right.bp_offset;
}

void add(CodeGuess& guess, const Rule& rule) {
  const auto is_it = [&](const Rule& other) { return is_same(other, rule); };
  if (guess.rules.size() < CodeGuess::kMostRules && std::ranges::none_of(guess.rules, is_it))
    guess.rules.push_back(rule);
}

void add_from_beginnings(CodeGuess& guess, std::string_view code, std::size_t at,
                         std::uint64_t start, std::size_t& left) {
  std::size_t found = 0;
  const std::size_t first = at - std::min(at, kFarthestBeginning);
  std::size_t begin = at - std::min<std::size_t>(at, (start + at) % kAlignment);
  for (; begin >= first && found < kMostBeginnings && left > 0; begin -= kAlignment) {
    if (begin < at && is_beginning(code.substr(begin)))
      if (const auto rule = FromBeginning(code, left).run(begin, at)) {
        add(guess, *rule);
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
  constexpr std::string_view kSwitch("\x48\x89\xdc"), kLoad("\x48\x8b\x3c\x24"), kPop("\x5f"),
      kTest("\x48\x85\xff");
  if (code.starts_with("\xf3\x0f\x1e\xfa")) code.remove_prefix(4);
  if (!code.starts_with(kSwitch)) return false;
  code.remove_prefix(kSwitch.size());
  for (const std::string_view next : {kLoad, kPop})
    if (code.starts_with(next)) return code.substr(next.size()).starts_with(kTest);
  return false;
}

CodeGuess guess_from_code(std::string_view code, std::size_t at, std::uint64_t start) {
  CodeGuess guess;
  if (is_signal_return(code.substr(at))) return {{signal_rule()}, true, false, kStepsOfInstruction};
  std::size_t left = kMostInstructions;
  Forwards forwards(code, start, left);
  if (const auto rule = forwards.run(at)) {
    guess.returns = true;
    add(guess, *rule);
  } else if (forwards.is_in_register()) {
    guess.is_in_register = true;
  } else {
    for (const Rule& tail : forwards.tails()) add(guess, tail);
    add_from_beginnings(guess, code, at, start, left);
    if (const auto late = forwards.run_behind_padding()) add(guess, *late);
  }
  guess.steps = (kMostInstructions - left) * kStepsOfInstruction;
  return guess;
}

}  // namespace ctprof
