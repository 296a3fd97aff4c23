// Hashes that only the owner of a key can compute (SipHash-2-4), and permutations of small ranges
// with the same key, for numbers that must keep their length.
//
// See also: seeded_hash.hpp (hashes for tables in memory).

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ctprof {

class KeyedHash {
 public:
  using Key = std::array<std::uint64_t, 2>;

  explicit KeyedHash(const Key& key) : key_(key) {}
  // Derives a key from these bytes. The key is only as hard to guess as the bytes.
  static Key derive_key(std::string_view bytes);

  std::uint64_t operator()(std::string_view text) const;
  // Applies the permutation of 0 to `size` - 1 to a number. REQUIRES: number < size <= 2^62.
  std::uint64_t permute(std::uint64_t number, std::uint64_t size) const;

 private:
  std::uint64_t round(unsigned round, std::uint64_t half, std::uint64_t size) const;

  Key key_;
};

}  // namespace ctprof
