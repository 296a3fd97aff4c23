#include "core/base/keyed_hash.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace ctprof {
namespace {

// Must be even: after an odd number of rounds, one half would be unchanged in the last.
constexpr unsigned kRounds = 8;

struct State {
  std::uint64_t v0, v1, v2, v3;

  explicit State(const KeyedHash::Key& key)
      : v0(key[0] ^ 0x736f6d6570736575),
        v1(key[1] ^ 0x646f72616e646f6d),
        v2(key[0] ^ 0x6c7967656e657261),
        v3(key[1] ^ 0x7465646279746573) {}

  void mix() {
    v0 += v1, v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1, v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2, v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void add_word(std::uint64_t word) {
    v3 ^= word;
    mix(), mix();
    v0 ^= word;
  }

  std::uint64_t finish() {
    v2 ^= 0xff;
    mix(), mix(), mix(), mix();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

// Returns up to eight bytes, the first one lowest.
std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return word;
}

}  // namespace

KeyedHash::Key KeyedHash::derive_key(std::string_view bytes) {
  const KeyedHash first({1, 0}), second({2, 0});
  return {first(bytes), second(bytes)};
}

std::uint64_t KeyedHash::operator()(std::string_view text) const {
  State state(key_);
  const std::uint64_t size = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) state.add_word(word_of(text.substr(0, 8)));
  state.add_word(size << 56 | word_of(text));
  return state.finish();
}

std::uint64_t KeyedHash::round(unsigned round, std::uint64_t half, std::uint64_t size) const {
  std::array<char, 24> bytes;
  const std::array<std::uint64_t, 3> words{round, half, size};
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return (*this)({bytes.data(), bytes.size()});
}

// Feistel network over the next power of four, repeated until the result is in the range.
std::uint64_t KeyedHash::permute(std::uint64_t number, std::uint64_t size) const {
  unsigned bits = 1;
  while (std::uint64_t{1} << (2 * bits) < size) ++bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  do {
    std::uint64_t left = number >> bits, right = number & mask;
    for (unsigned i = 0; i < kRounds; ++i)
      left = std::exchange(right, left ^ (round(i, right, size) & mask));
    number = left << bits | right;
  } while (number >= size);
  return number;
}

}  // namespace ctprof
