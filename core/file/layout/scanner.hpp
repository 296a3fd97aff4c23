// One line of JSON, read from left to right, for columns: numbers by the million, and little else.
//
//   if (!in.enter('[')) ...;
//   while (in.next(']')) take(in.number());
//
// It reads JSON and nothing more, blanks between tokens included, and allocates only for texts with
// escapes. The first thing that is wrong stops it: whatever is asked afterwards fails or is empty,
// so that a caller looks once, at the end of what it reads.
//
// Not thread-safe; one scanner a line.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/file/layout/limits.hpp"

namespace ctprof {

class Scanner {
 public:
  // REQUIRES: the text outlives it.
  explicit Scanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  bool failed() const { return !why_.empty(); }
  // "a number was expected at byte 17", for example; empty while all is well.
  const std::string& why() const { return why_; }
  void fail(std::string_view what);

  // What the next value begins with: one of [ { " t f n - 0..9; '\0' where there is none.
  char peek() {
    skip_blanks();
    return at_ == end_ ? '\0' : *at_;
  }

  // Goes into an array or an object. False where none begins here.
  bool enter(char bracket);
  // Whether there is one more item before the closing bracket, which it passes when there is none.
  // The first call after `enter` takes no comma.
  bool next(char bracket) {
    if (first_ || at_ == end_ || *at_ != ',') return next_or_end(bracket);
    ++at_;
    return true;
  }
  // A member's key and the colon behind it. Lives until the next text or key.
  std::string_view key();

  bool null() { return peek() == 'n' && word("null"); }  // takes null if it is next
  bool boolean();
  std::uint64_t number() {
    std::uint64_t value = 0;
    return is_short_number(value) ? value : any_number();
  }
  // Numbers by the million: takes those items of an array that come next and are plain, each with
  // the comma behind it, so that there is one more item. Plain is a whole number of at most `most`
  // and less than 20 digits, without blanks. What is left, be it wrong, is for next() and number().
  // Returns how many there were, at most as many as there is room for.
  std::size_t plain_numbers(std::span<std::uint64_t> room, std::uint64_t most);
  // The same for nulls that come next, without blanks: takes at most so many, each with the comma
  // behind it, and returns how many there were.
  std::size_t plain_nulls(std::size_t most);
  // And for true and false.
  std::size_t plain_booleans(std::span<std::uint8_t> room);
  // And for one text, again and again. REQUIRES: as text_again.
  std::size_t texts_again(std::string_view text, std::size_t most);
  std::int64_t signed_number();
  double real();
  // Unescaped, valid UTF-8. Lives until the next text or key.
  std::string_view text();
  // Whether the last text had escapes.
  bool was_escaped() const { return was_escaped_; }
  // Takes the text or the key if it is next, which is cheaper than to read it. REQUIRES: it came
  // from `text` or `key` without escapes.
  bool text_again(std::string_view text) {
    peek();
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (left < text.size() + 2 || *at_ != '"' || at_[text.size() + 1] != '"') return false;
    if (std::string_view(at_ + 1, text.size()) != text) return false;
    at_ += text.size() + 2;
    return true;
  }
  bool key_again(std::string_view text) {
    if (!text_again(text)) return false;
    if (at_ != end_ && *at_ == ':')
      ++at_;
    else if (!take(':'))
      fail("a colon was expected");
    return true;
  }
  // Passes over one value, and returns it as it stands: with at most so many objects and arrays
  // inside each other.
  std::string_view skip(std::size_t most_depth = limits::kDepth);
  // Whether nothing but blanks is left.
  bool at_end();

  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  void skip_blanks() {
    if (at_ != end_ && *at_ > ' ') return;
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool take(char c);
  bool word(std::string_view text);
  bool next_or_end(char bracket);
  std::uint64_t any_number();
  static const char* plain_number(const char* at, std::uint64_t& value);
  static const char* more_digits(const char* at, const char* safe, std::uint64_t& value);
  // Takes a whole number that surely fits, and behind which the next item or the end is.
  bool is_short_number(std::uint64_t& value) {
    const char* at = at_;
    const char* const safe = end_ - at > kSafeDigits ? at + kSafeDigits : end_;
    for (; at != safe && *at >= '0' && *at <= '9'; ++at)
      value = 10 * value + static_cast<std::uint64_t>(*at - '0');
    if (at == at_ || at == end_ || (*at != ',' && *at != ']' && *at != '}')) return false;
    if (*at_ == '0' && at - at_ > 1) return false;
    at_ = at;
    return true;
  }
  std::string_view number_text();
  bool unescape(const char* from);
  bool escape();
  bool hex4(std::uint32_t& value);
  void skip_value(std::size_t depth_left);

  static constexpr int kSafeDigits = std::numeric_limits<std::uint64_t>::digits10;

  const char* begin_;
  const char* at_;
  const char* end_;
  bool first_ = false;  // the next `next` is the first of its array or object
  bool was_escaped_ = false;
  std::string unescaped_;
  std::string why_;
};

// The same JSON without blanks between its tokens. REQUIRES: sound JSON.
std::string compact(std::string_view json);

}  // namespace ctprof
