// Hashes that only the owner of a key can make: SipHash-2-4. And permutations of small ranges by
// the same key, for numbers that are to stay as short as they were.
//
// Not here: hashes for tables in memory (seeded_hash.hpp).

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ctprof {

class KeyedHash {
 public:
  using Key = std::array<std::uint64_t, 2>;

  explicit KeyedHash(const Key& key) : key_(key) {}
  // The key that these bytes come to; as good as they are hard to guess.
  static Key key_of(std::string_view bytes);

  std::uint64_t operator()(std::string_view text) const;
  // Where the permutation of 0 to `size` - 1 takes a number. REQUIRES: number < size <= 2^62.
  std::uint64_t permuted(std::uint64_t number, std::uint64_t size) const;

 private:
  std::uint64_t round(unsigned round, std::uint64_t half, std::uint64_t size) const;

  Key key_;
};

}  // namespace ctprof
