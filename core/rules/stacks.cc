// The rule for call stacks: adds weights stack by stack. The number of a group is its total weight;
// it stops at 2^64-1 and is then marked as a lower bound. The state provides the weight of each
// stack (stacks.hpp).

#include "core/rules/stacks.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/number.hpp"
#include "core/rules/rule_book.hpp"

namespace ctprof::rules {
namespace {

constexpr std::uint64_t kFull = std::numeric_limits<std::uint64_t>::max();

void add_weight(std::uint64_t& sum, std::uint64_t weight) {
  if (__builtin_add_overflow(sum, weight, &sum)) sum = kFull;
}

// The weights of a group by stack. New stacks are appended, and sorted only occasionally, so that
// the time for a group with many rows depends only on the number of its stacks.
class Gathered {
 public:
  void add(std::span<const ctprof_stack> more) {
    for (const ctprof_stack& each : more) add_weight(total_, each.weight);
    stacks_.insert(stacks_.end(), more.begin(), more.end());
    if (stacks_.size() > 2 * settled_ + kSlack) settle();
  }
  void merge(const Gathered& other) {
    add(other.stacks_);
    total_ = std::max(total_, other.total_);  // a saturated total remains saturated
  }
  void settle();

  std::uint64_t total() const { return total_; }
  std::span<const ctprof_stack> stacks() const { return stacks_; }

 private:
  static constexpr std::size_t kSlack = 256;

  std::vector<ctprof_stack>
      stacks_;               // the first `sorted_count_` entries are ascending without duplicates
  std::size_t settled_ = 0;  // number of sorted entries
  std::uint64_t total_ = 0;
};

void Gathered::settle() {
  const auto middle = stacks_.begin() + static_cast<std::ptrdiff_t>(settled_);
  const auto by_stack = [](const ctprof_stack& a, const ctprof_stack& b) {
    return a.stack < b.stack;
  };
  std::sort(middle, stacks_.end(), by_stack);
  std::inplace_merge(stacks_.begin(), middle, stacks_.end(), by_stack);
  std::size_t kept = 0;
  for (const ctprof_stack& each : stacks_) {
    if (kept > 0 && stacks_[kept - 1].stack == each.stack)
      add_weight(stacks_[kept - 1].weight, each.weight);
    else
      stacks_[kept++] = each;
  }
  stacks_.resize(kept);
  settled_ = kept;
}

struct State {
  Gathered* gathered;  // null: no reading yet
};

Gathered* gathered_in(const void* state) { return static_cast<const State*>(state)->gathered; }

Gathered& started(State& state) {
  if (!state.gathered) state.gathered = new Gathered;
  return *state.gathered;
}

void add_stacks(void* states, const ctprof_rows* rows) {
  for_each_reading<State, std::uint32_t>(states, *rows, [&](State& state, std::uint32_t id) {
    std::size_t count = 0;
    const ctprof_stack* given = rows->stacks(rows->core, id, &count);
    started(state).add({given, count});
  });
}

void merge_stacks(void* into, const void* from) {
  if (const Gathered* other = gathered_in(from)) started(*static_cast<State*>(into)).merge(*other);
}

void finish_stacks(void* state) {
  if (Gathered* gathered = gathered_in(state)) gathered->settle();
}

void destroy_stacks(void* state) { delete gathered_in(state); }

ctprof_number stacks_number(const void* state) {
  const Gathered* gathered = gathered_in(state);
  return gathered ? number_of(gathered->total()) : no_number();
}

void stacks_text(const void* state, const char* unit, const ctprof_sink* out) {
  const Gathered* gathered = gathered_in(state);
  const bool is_full = gathered && gathered->total() == kFull;
  put(*out, (is_full ? "≥" : "") + scaled(stacks_number(state), unit));
}

constexpr ctprof_rule stack_rule() {
  ctprof_rule rule =
      rule_of<State>("StackSum", "StackNs,StackCount,StackBytes", "adds up, stack by stack",
                     CTPROF_REDUCES_BY_SUM, add_stacks, merge_stacks);
  rule.finish = finish_stacks;
  rule.destroy = destroy_stacks;
  rule.number = stacks_number;
  rule.text = stacks_text;
  return rule;
}

constexpr ctprof_rule kStacks[] = {stack_rule()};

}  // namespace

std::span<const ctprof_rule> stacks() { return kStacks; }

bool gathers_stacks(const ctprof_rule& rule) { return &rule == kStacks; }

std::span<const ctprof_stack> stacks_in(const void* state) {
  const Gathered* gathered = gathered_in(state);
  return gathered ? gathered->stacks() : std::span<const ctprof_stack>{};
}

}  // namespace ctprof::rules
