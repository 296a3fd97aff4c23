// Finds the numbers of items that are stored in a vector, by a hash of each item.
//
//   const std::uint64_t hash = hash_of(item);
//   std::uint32_t number = index.find(hash, [&](std::uint32_t n) { return items[n] == item; });
//   if (number == NumberIndex::kNone) index.add(hash, items.size()), items.push_back(item);
//
// An entry has 8 to 32 bytes and no allocation of its own, so that tables of millions of items need
// less memory and time than std::unordered_map. Hashes of untrusted items must be seeded
// (seeded_hash.hpp).
//
// Threads: not thread-safe.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ctprof {

class NumberIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Returns the number of an item with this hash for which is_equal(number) is true, or kNone.
  template <class IsEqual>
  std::uint32_t find(std::uint64_t hash, IsEqual is_equal) const {
    if (slots_.empty()) return kNone;
    const std::uint32_t tag = tag_of(hash);
    for (std::size_t at = first_slot(tag);; at = next_slot(at)) {
      const Slot& slot = slots_[at];
      if (slot.number == kNone) return kNone;
      if (slot.tag == tag && is_equal(slot.number)) return slot.number;
    }
  }
  // REQUIRES: find() returns kNone for the item, and `number` is not kNone.
  void add(std::uint64_t hash, std::uint32_t number) {
    if (++count_ * 2 > slots_.size()) grow();
    insert({tag_of(hash), number});
  }

 private:
  static constexpr std::size_t kMinSlots = 16;
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t number = kNone;
  };

  static std::uint32_t tag_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }
  // The number of slots is a power of two.
  std::size_t first_slot(std::uint32_t tag) const { return tag & (slots_.size() - 1); }
  std::size_t next_slot(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void insert(const Slot& slot) {
    std::size_t at = first_slot(slot.tag);
    while (slots_[at].number != kNone) at = next_slot(at);
    slots_[at] = slot;
  }
  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, {});
    slots_.resize(std::max(kMinSlots, 2 * old.size()));
    for (const Slot& slot : old)
      if (slot.number != kNone) insert(slot);
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace ctprof
