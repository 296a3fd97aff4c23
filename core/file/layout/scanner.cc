#include "core/file/layout/scanner.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_number_char(char c) {
  return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// from_chars also takes ".5", "1." and "01".
bool is_json_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto point = text.find_first_of(".eE");
  const std::string_view whole = text.substr(0, point);
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return false;
  return point == text.npos || text[point] != '.' ||
         (point + 1 < text.size() && is_digit(text[point + 1]));
}

// Otherwise the scanner reads item by item.
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

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) return put(point);
  if (point < 0x800) return put(0xc0 | point >> 6), put(0x80 | (point & 0x3f));
  if (point < 0x10000)
    return put(0xe0 | point >> 12), put(0x80 | (point >> 6 & 0x3f)), put(0x80 | (point & 0x3f));
  put(0xf0 | point >> 18), put(0x80 | (point >> 12 & 0x3f));
  put(0x80 | (point >> 6 & 0x3f)), put(0x80 | (point & 0x3f));
}

}  // namespace

void Scanner::fail(std::string_view what) {
  if (has_failed()) return;
  error_text_ = std::string(what) + " at byte " + std::to_string(position());
  at_ = end_;
}

bool Scanner::consume(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

bool Scanner::enter(char bracket) {
  is_at_first_item_ = true;
  if (consume(bracket)) return true;
  fail(bracket == '[' ? "an array was expected" : "an object was expected");
  return false;
}

bool Scanner::next_or_end(char bracket) {
  if (has_failed() || consume(bracket)) return is_at_first_item_ = false;
  if (!is_at_first_item_ && !consume(',')) fail("a comma or a closing bracket was expected");
  is_at_first_item_ = false;
  return !has_failed();
}

std::string_view Scanner::key() {
  const std::string_view name = text();
  if (!has_failed() && !consume(':')) fail("a colon was expected");
  return has_failed() ? std::string_view{} : name;
}

bool Scanner::consume_word(std::string_view text) {
  constexpr std::size_t kWordSize = 4;  // null, true: the compiler inlines this comparison
  if (static_cast<std::size_t>(end_ - at_) < text.size()) return false;
  const int differ = text.size() == kWordSize ? std::memcmp(at_, text.data(), kWordSize)
                                              : std::memcmp(at_, text.data(), text.size());
  if (differ != 0) return false;
  at_ += text.size();
  return true;
}

bool Scanner::boolean() {
  const char c = peek();
  if (c == 't' && consume_word("true")) return true;
  if (c != 'f' || !consume_word("false")) fail("true or false was expected");
  return false;
}

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
  for (; at != safe && is_digit(*at); ++at)
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

std::uint64_t Scanner::read_any_number() {
  const std::string_view text = number_text();
  std::uint64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = code == std::errc{} && stop == text.data() + text.size();
  if (is_whole && (text.size() == 1 || text.front() != '0')) return value;
  fail("a whole number from 0 to 18446744073709551615 was expected");
  return 0;
}

std::int64_t Scanner::signed_number() {
  const std::string_view text = number_text();
  std::int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_whole = code == std::errc{} && stop == text.data() + text.size();
  if (is_whole && (digits.size() == 1 || digits.front() != '0')) return value;
  fail("a whole number was expected");
  return 0;
}

double Scanner::real_number() {
  const std::string_view text = number_text();
  if (!is_json_number(text)) return fail("a number was expected"), 0;
  double value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && stop == text.data() + text.size() && std::isfinite(value))
    return value;
  fail("a number was expected");
  return 0;
}

std::string_view Scanner::number_text() {
  peek();
  const char* const start = at_;
  while (at_ != end_ && is_number_char(*at_)) ++at_;
  return {start, static_cast<std::size_t>(at_ - start)};
}

std::string_view Scanner::text() {
  if (!consume('"')) return fail("a text was expected"), std::string_view{};
  const char* const start = at_;
  was_escaped_ = false;
  unsigned char high = 0;
  while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20)
    high |= static_cast<unsigned char>(*at_++);
  if (at_ == end_ || *at_ != '"') {
    was_escaped_ = true;
    if (!unescape(start)) return {};
    return unescaped_;
  }
  const std::string_view found(start, static_cast<std::size_t>(at_++ - start));
  if (high < 0x80 || is_utf8(found)) return found;
  return fail("a text is not UTF-8"), std::string_view{};
}

// Decodes the text again from its beginning.
bool Scanner::unescape(const char* from) {
  unescaped_.clear();
  for (at_ = from; at_ != end_ && *at_ != '"';) {
    if (static_cast<unsigned char>(*at_) < 0x20)
      return fail("a text contains a control character"), false;
    if (*at_ != '\\')
      unescaped_ += *at_++;
    else if (!decode_escape())
      return fail("a text contains an unknown escape sequence"), false;
  }
  if (at_ == end_) return fail("a text has no closing quote"), false;
  ++at_;
  return is_utf8(unescaped_) || (fail("a text is not UTF-8"), false);
}

bool Scanner::decode_escape() {
  constexpr std::string_view kEscapes = "\"\\/bfnrt", kDecoded = "\"\\/\b\f\n\r\t";
  if (end_ - at_ < 2) return false;
  const auto found = kEscapes.find(at_[1]);
  const bool is_point = at_[1] == 'u';
  at_ += 2;
  if (found != kEscapes.npos) return unescaped_ += kDecoded[found], true;
  std::uint32_t point = 0, low = 0;
  if (!is_point || !read_hex4(point)) return false;
  constexpr std::uint32_t kHigh = 0xd800, kLow = 0xdc00, kEnd = 0xe000;
  if (point >= kHigh && point < kLow) {
    if (!consume_word("\\u") || !read_hex4(low) || low < kLow || low >= kEnd) return false;
    point = 0x10000 + ((point - kHigh) << 10) + (low - kLow);
  } else if (point >= kLow && point < kEnd) {
    return false;
  }
  append_utf8(unescaped_, point);
  return true;
}

bool Scanner::read_hex4(std::uint32_t& value) {
  if (end_ - at_ < 4) return false;
  const auto [stop, code] = std::from_chars(at_, at_ + 4, value, 16);
  const bool fine = code == std::errc{} && stop == at_ + 4 && *at_ != '-';
  at_ += 4;
  return fine;
}

std::string_view Scanner::skip(std::size_t most_depth) {
  peek();
  const char* const start = at_;
  skip_nested_value(most_depth);
  return has_failed() ? std::string_view{}
                      : std::string_view(start, static_cast<std::size_t>(at_ - start));
}

void Scanner::skip_nested_value(std::size_t depth_left) {
  const char c = peek();
  if (c == '"') return void(text());
  if (c == 'n' && consume_word("null")) return;
  if (c == 't' || c == 'f') return void(boolean());
  if (c == '-' || is_digit(c)) return void(real_number());
  if (c != '[' && c != '{') return fail("a value was expected");
  if (depth_left == 0)
    return fail("values are nested more than " + std::to_string(limits::kDepth) + " deep");
  const char closing = c == '[' ? ']' : '}';
  for (enter(c); next(closing); skip_nested_value(depth_left - 1))
    if (c == '{') key();
}

namespace {

// Returns the position after the text that begins at `at`.
std::size_t end_of_text(std::string_view json, std::size_t at) {
  for (std::size_t from = at + 1;;) {
    const std::size_t quote = json.find('"', from);
    if (quote == json.npos) return json.size();
    const std::size_t escape = json.substr(from, quote - from).find('\\');
    if (escape == json.npos) return quote + 1;
    from += escape + 2;
  }
}

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

std::string remove_blanks(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    std::size_t end = at;
    if (json[at] == '"')
      end = end_of_text(json, at);
    else
      while (end < json.size() && json[end] != '"' && !is_blank(json[end])) ++end;
    out.append(json, at, end - at);
    at = end;
    while (at < json.size() && is_blank(json[at])) ++at;
  }
  return out;
}

bool Scanner::at_end() { return !has_failed() && peek() == '\0' && at_ == end_; }

}  // namespace ctprof
