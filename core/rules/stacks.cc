// The rule for call stacks: adds weights stack by stack. The number of a group is its total weight;
// it stops at 2^64-1 and is then marked as a lower bound. The state provides the weight of each
// stack (stacks.hpp).

#include "core/rules/stacks.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/number.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof::rules {
namespace {

constexpr std::uint64_t kSaturated = std::numeric_limits<std::uint64_t>::max();

void add_weight(std::uint64_t& sum, std::uint64_t weight) {
  if (__builtin_add_overflow(sum, weight, &sum)) sum = kSaturated;
}

// The weights of a group by stack. New stacks are appended, and sorted only occasionally, so that
// the time for a group with many rows depends only on the number of its stacks.
class StackSums {
 public:
  void add(std::span<const ctprof_stack> more) {
    for (const ctprof_stack& each : more) add_weight(total_, each.weight);
    stacks_.insert(stacks_.end(), more.begin(), more.end());
    if (stacks_.size() > 2 * sorted_count_ + kSlack) sort_and_merge();
  }
  void merge(const StackSums& other) {
    add(other.stacks_);
    total_ = std::max(total_, other.total_);  // a saturated total remains saturated
  }
  void sort_and_merge();

  std::uint64_t total() const { return total_; }
  std::span<const ctprof_stack> stacks() const { return stacks_; }

 private:
  static constexpr std::size_t kSlack = 256;

  // The first `sorted_count_` entries are ascending without duplicates.
  std::vector<ctprof_stack> stacks_;
  std::size_t sorted_count_ = 0;  // number of sorted entries
  std::uint64_t total_ = 0;
};

void StackSums::sort_and_merge() {
  const auto middle = stacks_.begin() + static_cast<std::ptrdiff_t>(sorted_count_);
  const auto by_stack = [](const ctprof_stack& a, const ctprof_stack& b) {
    return a.stack < b.stack;
  };
  std::sort(middle, stacks_.end(), by_stack);
  std::inplace_merge(stacks_.begin(), middle, stacks_.end(), by_stack);
  std::size_t count = 0;
  for (const ctprof_stack& each : stacks_) {
    if (count > 0 && stacks_[count - 1].stack == each.stack)
      add_weight(stacks_[count - 1].weight, each.weight);
    else
      stacks_[count++] = each;
  }
  stacks_.resize(count);
  sorted_count_ = count;
}

struct State {
  StackSums* stack_sums;  // null: no reading yet
};

StackSums* stack_sums_in(const void* state) { return static_cast<const State*>(state)->stack_sums; }

StackSums& stack_sums_of(State& state) {
  if (!state.stack_sums) state.stack_sums = new StackSums;
  return *state.stack_sums;
}

void add_stacks(void* states, const ctprof_rows* rows) {
  for_each_reading<State, std::uint32_t>(states, *rows, [&](State& state, std::uint32_t id) {
    std::size_t count = 0;
    const ctprof_stack* row_stacks = rows->stacks(rows->core, id, &count);
    stack_sums_of(state).add({row_stacks, count});
  });
}

void merge_stacks(void* into, const void* from) {
  if (const StackSums* other = stack_sums_in(from))
    stack_sums_of(*static_cast<State*>(into)).merge(*other);
}

void finish_stacks(void* state) {
  if (StackSums* stack_sums = stack_sums_in(state)) stack_sums->sort_and_merge();
}

void destroy_stacks(void* state) { delete stack_sums_in(state); }

ctprof_number stacks_number(const void* state) {
  const StackSums* stack_sums = stack_sums_in(state);
  return stack_sums ? make_number(stack_sums->total()) : no_number();
}

void stacks_text(const void* state, const char* unit, const ctprof_sink* out) {
  const StackSums* stack_sums = stack_sums_in(state);
  const bool is_full = stack_sums && stack_sums->total() == kSaturated;
  put(*out, (is_full ? "≥" : "") + format_scaled(stacks_number(state), unit));
}

constexpr ctprof_rule stack_rule() {
  ctprof_rule rule =
      make_rule<State>("StackSum", "StackNs,StackCount,StackBytes", "adds up, stack by stack",
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

bool is_stack_sum(const ctprof_rule& rule) { return &rule == kStacks; }

std::span<const ctprof_stack> stacks_in(const void* state) {
  const StackSums* stack_sums = stack_sums_in(state);
  return stack_sums ? stack_sums->stacks() : std::span<const ctprof_stack>{};
}

}  // namespace ctprof::rules
