// The functions of the scanner that read several plain cells in one call.

#include <array>
#include <bit>
#include <cstring>

#include "core/base/json_scanner.hpp"

namespace ctprof {
namespace {

// Whether several items can be read at a time; otherwise the scanner reads item by item.
constexpr bool kHasFastPath = std::endian::native == std::endian::little;
constexpr int kDigitsPerWord = sizeof(std::uint64_t);  // digits per word

// Returns a word with `byte` in each byte.
constexpr std::uint64_t repeat_byte(std::uint64_t byte) { return byte * 0x0101010101010101; }

constexpr std::array<std::uint64_t, kDigitsPerWord + 1> kPowers{
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

// Loads eight characters; the first is the lowest byte.
std::uint64_t load_word(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Reads the digits with which eight characters begin. Returns their number and sets `value`;
// without digits, leaves `value` unchanged. Leading zeros extend the digits to eight. Then two
// neighbours are combined into a number below 100, two of these into one below 10,000, and so on.
int read_digits(const char* at, std::uint64_t& value) {
  std::uint64_t digits = load_word(at) - repeat_byte('0');
  const std::uint64_t others = (digits | (digits + repeat_byte(0x80 - 10))) & repeat_byte(0x80);
  const int count = std::countr_zero(others) / 8;
  if (count == 0) return 0;
  digits <<= 8 * (kDigitsPerWord - count);
  digits = 10 * digits + (digits >> 8);
  constexpr std::uint64_t kPairs = 0x000000ff000000ff;
  constexpr std::uint64_t kOuter = 100 + (std::uint64_t{1'000'000} << 32);
  constexpr std::uint64_t kInner = 1 + (std::uint64_t{10'000} << 32);
  value = ((digits & kPairs) * kOuter + (digits >> 16 & kPairs) * kInner) >> 32;
  return count;
}

constexpr std::size_t kFour = 4;

// Reads four numbers of one digit each, "1,2,3,4,". Most numbers have one digit, and usually follow
// each other.
bool read_four_digits(const char* at, std::uint64_t* numbers) {
  constexpr std::uint64_t kZeros = 0x2c302c302c302c30;  // "0,0,0,0,"
  const std::uint64_t digits = load_word(at) ^ kZeros;
  if (((digits | (digits + 0x0006000600060006)) & 0xfff0fff0fff0fff0) != 0) return false;
  for (std::size_t i = 0; i < kFour; ++i) numbers[i] = digits >> 16 * i & 0xf;
  return true;
}

// Returns the mask of the characters of `word` in eight characters.
constexpr std::uint64_t word_mask(std::string_view word) {
  return word.size() == sizeof(std::uint64_t) ? ~std::uint64_t{0}
                                              : (std::uint64_t{1} << 8 * word.size()) - 1;
}
constexpr std::uint64_t word_bits(std::string_view word) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < word.size(); ++i)
    bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(word[i])) << 8 * i;
  return bits;
}
bool begins_with(std::uint64_t eight, std::string_view word) {
  return (eight & word_mask(word)) == word_bits(word);
}

}  // namespace

// Reads a plain number. REQUIRES: more than kSafeDigits characters are left.
const char* Scanner::read_plain_number(const char* at, std::uint64_t& value) {
  const char* const start = at;
  const int count = read_digits(at, value);
  at += count;
  if (count == kDigitsPerWord) at = read_more_digits(at, start + kSafeDigits, value);
  const bool is_whole = count > 0 && (*start != '0' || at - start == 1);
  return is_whole && *at == ',' ? at : nullptr;
}

const char* Scanner::read_more_digits(const char* at, const char* safe, std::uint64_t& value) {
  std::uint64_t next = 0;
  const int count = read_digits(at, next);
  value = kPowers[static_cast<std::size_t>(count)] * value + next;
  at += count;
  for (; at != safe && *at >= '0' && *at <= '9'; ++at)
    value = 10 * value + static_cast<std::uint64_t>(*at - '0');
  return at;
}

std::size_t Scanner::read_plain_numbers(std::span<std::uint64_t> numbers, std::uint64_t max) {
  if constexpr (!kHasFastPath) return 0;
  const char* at = at_;
  std::size_t count = 0;
  while (count < numbers.size() && end_ - at > kSafeDigits) {
    if (numbers.size() - count >= kFour && max > 9 && read_four_digits(at, &numbers[count])) {
      count += kFour, at += 2 * kFour;
      continue;
    }
    std::uint64_t value = 0;
    const char* const behind = read_plain_number(at, value);
    if (!behind || value > max) break;
    numbers[count++] = value;
    at = behind + 1;
  }
  at_ = at;
  return count;
}

std::size_t Scanner::read_plain_nulls(std::size_t max) {
  constexpr std::string_view kNull = "null,";
  if constexpr (!kHasFastPath) return 0;
  const char* at = at_;
  std::size_t count = 0;
  for (; count < max && end_ - at > kDigitsPerWord && begins_with(load_word(at), kNull); ++count)
    at += kNull.size();
  at_ = at;
  return count;
}

std::size_t Scanner::read_plain_booleans(std::span<std::uint8_t> booleans) {
  constexpr std::string_view kTrue = "true,", kFalse = "false,";
  if constexpr (!kHasFastPath) return 0;
  const char* at = at_;
  std::size_t count = 0;
  for (; count < booleans.size() && end_ - at > kDigitsPerWord; ++count) {
    const std::uint64_t eight = load_word(at);
    const bool is_true = begins_with(eight, kTrue);
    if (!is_true && !begins_with(eight, kFalse)) break;
    booleans[count] = is_true;
    at += is_true ? kTrue.size() : kFalse.size();
  }
  at_ = at;
  return count;
}

std::size_t Scanner::consume_repeated_texts(std::string_view text, std::size_t max) {
  const std::size_t size = text.size(), each = size + 3;
  const char* at = at_;
  std::size_t count = 0;
  for (; count < max && static_cast<std::size_t>(end_ - at) >= each; ++count, at += each)
    if (*at != '"' || at[size + 1] != '"' || at[size + 2] != ',' ||
        std::memcmp(at + 1, text.data(), size) != 0)
      break;
  at_ = at;
  return count;
}

}  // namespace ctprof
