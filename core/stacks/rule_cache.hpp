// Rules that were looked up once, by file and place in it: a table of open addressing, 24 bytes a
// rule; with its empty slots 32 to 64.
//
// It holds so many, and starts anew when it is full; programs of a busy host use some ten
// thousand. The hash cannot be predicted, so nobody can lay out a program whose rules collide.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

class RuleCache {
 public:
  static constexpr std::size_t kMostRules = 1 << 21;
  static constexpr std::uint64_t kMostOffset = 1ULL << 40;
  static constexpr std::uint64_t kMostModules = (1ULL << 24) - 1;

  // Never 0. REQUIRES: module < kMostModules, offset < kMostOffset.
  static std::uint64_t key_of(std::uint32_t module, std::uint64_t offset) {
    return (std::uint64_t{module} + 1) << 40 | offset;
  }

  // The rule of that key, or null. It lives until the next insert.
  const Rule* find(std::uint64_t key) const {
    const Rule& rule = slots_[slot_of(key)];
    return rule.key == key ? &rule : nullptr;
  }
  // REQUIRES: there is none of that key.
  void insert(const Rule& rule);
  std::size_t size() const { return size_; }

 private:
  // Its own slot, or the empty one where it belongs.
  std::size_t slot_of(std::uint64_t key) const {
    std::size_t slot = key * factor_ >> shift_;
    while (slots_[slot].key != 0 && slots_[slot].key != key)
      slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  void grow();

  static constexpr unsigned kFirstBits = 12;
  std::uint64_t factor_ = SeededHash()(std::uint64_t{1}) | 1;
  unsigned shift_ = 64 - kFirstBits;
  std::vector<Rule> slots_ = std::vector<Rule>(std::size_t{1} << kFirstBits);
  std::size_t size_ = 0;
};

}  // namespace ctprof
