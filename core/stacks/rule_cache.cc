#include "core/stacks/rule_cache.hpp"

#include <utility>

namespace ctprof {

void RuleCache::insert(const Rule& rule) {
  if (size_ == kMostRules) {
    slots_.assign(slots_.size(), Rule());
    size_ = 0;
  }
  if (4 * (size_ + 1) > 3 * slots_.size()) grow();
  slots_[slot_of(rule.key)] = rule;
  ++size_;
}

void RuleCache::grow() {
  std::vector<Rule> old(2 * slots_.size());
  old.swap(slots_);
  --shift_;
  for (const Rule& rule : old)
    if (rule.key != 0) slots_[slot_of(rule.key)] = rule;
}

}  // namespace ctprof
