#include "core/stacks/rule_cache.hpp"

#include <utility>

namespace ctprof {

void RuleCache::insert(const UnwindRule& rule) {
  if (size_ == kMaxRules) {
    slots_.assign(slots_.size(), UnwindRule());
    size_ = 0;
  }
  if (4 * (size_ + 1) > 3 * slots_.size()) grow();
  slots_[find_slot(rule.key)] = rule;
  ++size_;
}

void RuleCache::grow() {
  std::vector<UnwindRule> old(2 * slots_.size());
  old.swap(slots_);
  --shift_;
  for (const UnwindRule& rule : old)
    if (rule.key != 0) slots_[find_slot(rule.key)] = rule;
}

}  // namespace ctprof
