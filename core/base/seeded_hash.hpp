// Hashes of numbers and texts that the author of a file cannot predict, so that no file can put all
// its rows into one bucket. They differ between runs; no output may depend on them.

#pragma once

#include <sys/auxv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ctprof {

class SeededHash {
 public:
  std::size_t operator()(std::uint64_t value) const {
    value ^= seed()[0];
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return static_cast<std::size_t>(value ^ value >> 31);
  }

  // Processes eight bytes per step. Both factors contain a part of the seed, so that texts that
  // collide with one seed do not collide with another.
  std::size_t operator()(std::string_view text) const {
    const auto& [first, second] = seed();
    std::uint64_t hash = first ^ text.size();
    for (; text.size() >= sizeof hash; text.remove_prefix(sizeof hash))
      hash = multiply_and_fold(word(text) ^ second, hash ^ kMultiplier);
    if (!text.empty()) hash = multiply_and_fold(word(text) ^ second, hash ^ kMultiplier);
    return static_cast<std::size_t>(multiply_and_fold(hash ^ first, second | 1));
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  __extension__ using Product = unsigned __int128;

  static std::uint64_t multiply_and_fold(std::uint64_t a, std::uint64_t b) {
    const Product product = static_cast<Product>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  // Returns the next eight bytes, padded with zeros.
  static std::uint64_t word(std::string_view text) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), text.size() < sizeof bytes ? text.size() : sizeof bytes);
    return bytes;
  }

  // Returns the random bytes that the kernel passed to this process.
  static const std::array<std::uint64_t, 2>& seed() {
    static const std::array<std::uint64_t, 2> seed_words = [] {
      std::array<std::uint64_t, 2> bytes{};
      if (const auto* random = reinterpret_cast<const char*>(::getauxval(AT_RANDOM)))
        std::memcpy(bytes.data(), random, sizeof bytes);
      return bytes;
    }();
    return seed_words;
  }
};

}  // namespace ctprof
