// Hashes of memory with a seed that other processes cannot predict, for tables of recorded stacks.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/base/seeded_hash.hpp"

namespace ctprof {

__extension__ using HashProduct = unsigned __int128;

inline std::uint64_t multiply_and_fold(std::uint64_t a, std::uint64_t b) {
  const HashProduct product = static_cast<HashProduct>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Processes four words per step, so that the multiplications overlap. REQUIRES: the size is a
// multiple of that of a word.
inline std::uint64_t hash_of(std::span<const std::byte> bytes) {
  static const std::uint64_t seed = SeededHash()(std::uint64_t{1}) | 1;
  const std::uint64_t factor = seed ^ 0x9e3779b97f4a7c14;
  std::uint64_t a = seed, b = seed + 2, c = seed + 4, d = seed ^ bytes.size();
  std::array<std::uint64_t, 4> words;
  for (; bytes.size() >= sizeof words; bytes = bytes.subspan(sizeof words)) {
    std::memcpy(words.data(), bytes.data(), sizeof words);
    a = multiply_and_fold(a ^ words[0], factor);
    b = multiply_and_fold(b ^ words[1], factor);
    c = multiply_and_fold(c ^ words[2], factor);
    d = multiply_and_fold(d ^ words[3], factor);
  }
  words = {};
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  a = multiply_and_fold(a ^ words[0], factor) ^ multiply_and_fold(b ^ words[1], seed);
  c = multiply_and_fold(c ^ words[2], factor) ^ multiply_and_fold(d ^ words[3], seed);
  return SeededHash()(multiply_and_fold(a, factor) ^ c);
}

// Returns the part of a hash that a table stores, to compare fewer contents.
inline std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace ctprof
