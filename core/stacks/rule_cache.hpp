// Caches unwind rules by file and offset: a hash table with open addressing, 24 bytes per rule, or
// 32 to 64 including empty slots.
//
// It is cleared when it reaches its limit; programs of a busy host use some ten thousand rules. The
// hash is seeded, so no user can build a program whose rules collide.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

class RuleCache {
 public:
  static constexpr std::size_t kMaxRules = 1 << 21;
  static constexpr std::uint64_t kOffsetLimit = 1ULL << 40;
  static constexpr std::uint64_t kModuleLimit = (1ULL << 24) - 1;

  // Returns a key, which is never 0. REQUIRES: module < kModuleLimit, offset < kOffsetLimit.
  static std::uint64_t make_key(std::uint32_t module, std::uint64_t offset) {
    return (std::uint64_t{module} + 1) << 40 | offset;
  }

  // Returns the rule of this key, or null. The pointer is valid until the next insert.
  const UnwindRule* find(std::uint64_t key) const {
    const UnwindRule& rule = slots_[find_slot(key)];
    return rule.key == key ? &rule : nullptr;
  }
  // REQUIRES: the cache has no rule with this key.
  void insert(const UnwindRule& rule);
  std::size_t size() const { return size_; }

 private:
  // Returns the slot of the key, or the empty slot for it.
  std::size_t find_slot(std::uint64_t key) const {
    std::size_t slot = key * factor_ >> shift_;
    while (slots_[slot].key != 0 && slots_[slot].key != key)
      slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  void grow();

  static constexpr unsigned kInitialBits = 12;
  std::uint64_t factor_ = SeededHash()(std::uint64_t{1}) | 1;
  unsigned shift_ = 64 - kInitialBits;
  std::vector<UnwindRule> slots_ = std::vector<UnwindRule>(std::size_t{1} << kInitialBits);
  std::size_t size_ = 0;
};

}  // namespace ctprof
