// Reads JSON from left to right: the only reader of JSON in the core. It is optimised for files in
// columns and in rows, which are mostly numbers.
//
//   if (!in.enter('[')) ...;
//   while (in.next(']')) take(in.number());
//
// The scanner accepts exactly JSON, including blanks between tokens, and allocates only for texts
// with escapes. The first error stops it: later calls fail or return empty values, so that a caller
// checks for failure once, at the end.
//
// The text is in memory, such as a line of a columns file, or comes slice by slice, such as a
// rows file. Then the scanner keeps only the slices that contain the value that is being read,
// and every view is valid only until the next call. Results do not depend on the slices.
//
// See also: json_writer.hpp.
//
// Not thread-safe; use one scanner per text.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ctprof {

// Nesting depth of objects and arrays that JSON may have.
inline constexpr std::size_t kMaxJsonDepth = 32;

// A source of text in slices.
class TextSource {
 public:
  virtual ~TextSource() = default;
  // Returns the next slice; empty at the end. It is valid until the next call. An error contains
  // only the reason, not the file's name.
  virtual Result<std::string_view> next() = 0;
};

// The first error of a scanner.
struct ScanError {
  // Limit: valid so far, but larger than allowed. Source: the text cannot be read.
  enum class Kind { Syntax, EndOfText, Limit, Source };
  Kind kind = Kind::Syntax;
  std::string reason;        // for example "a number was expected"
  std::size_t position = 0;  // byte of the text
};

// Reads JSON from left to right.
class Scanner {
 public:
  // REQUIRES: the text outlives it.
  explicit Scanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}
  // The largest string, and the largest value that skip() returns.
  struct SizeLimits {
    std::size_t string_bytes;
    std::size_t value_bytes;
  };
  // Reads the slices of the source. Refuses larger values. REQUIRES: the source outlives it.
  Scanner(TextSource& source, const SizeLimits& limits)
      : begin_(buffer_.data()), at_(begin_), end_(begin_), source_(&source), limits_(limits) {}
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;
  // Continues with another text, without the error. REQUIRES: the text outlives it.
  void restart(std::string_view text);

  bool has_failed() const { return has_failed_; }
  // Returns the error, for example "a number was expected at byte 17"; empty without an error.
  std::string error_text() const;
  const ScanError& error() const { return error_; }
  // Stops with an error at this position; does nothing after another error.
  void fail(std::string_view what);

  // Returns the first character of the next value: one of [ { " t f n - 0..9; '\0' at the end.
  char peek() {
    skip_blanks();
    return at_ == end_ ? '\0' : *at_;
  }

  // Enters an array or an object. Fails and returns false if none begins here.
  bool enter(char bracket);
  // Returns whether another item precedes the closing bracket; otherwise consumes the bracket. The
  // first call after `enter` consumes no comma.
  bool next(char bracket) {
    if (is_at_first_item_ || at_ == end_ || *at_ != ',') return next_or_end(bracket);
    ++at_;
    return true;
  }
  // Returns a member's key and consumes the colon. Valid until the next text or key.
  std::string_view key();

  bool consume_null() {
    return peek() == 'n' && consume_word("null");
  }  // consumes null if it is next
  bool boolean();
  std::uint64_t number() {
    std::uint64_t value = 0;
    return consume_short_number(value) ? value : read_any_number();
  }
  // Consumes a whole number that certainly fits into 64 bits, follows without blanks, and is
  // followed by the next item or the end. Leaves anything else to other functions.
  bool consume_short_number(std::uint64_t& value) {
    const char* at = at_;
    const char* const safe = end_ - at > kSafeDigits ? at + kSafeDigits : end_;
    for (; at != safe && *at >= '0' && *at <= '9'; ++at)
      value = 10 * value + static_cast<std::uint64_t>(*at - '0');
    if (at == at_ || at == end_ || (*at != ',' && *at != ']' && *at != '}')) return false;
    if (*at_ == '0' && at - at_ > 1) return false;
    at_ = at;
    return true;
  }
  // Reads the next consecutive plain numbers of an array, each with the comma after it, so that
  // another item follows. A plain number is a whole number of at most `max` and fewer than 20
  // digits, without blanks. Leaves other items, including invalid ones, to next() and number().
  // Returns how many numbers it stored, at most the size of the span.
  std::size_t read_plain_numbers(std::span<std::uint64_t> numbers, std::uint64_t max);
  // Reads consecutive nulls without blanks, at most `max`, each with the comma after it. Returns
  // their number.
  std::size_t read_plain_nulls(std::size_t max);
  // Reads consecutive plain booleans, like read_plain_numbers().
  std::size_t read_plain_booleans(std::span<std::uint8_t> booleans);
  // Reads consecutive repetitions of one text, at most `max`. Returns their number. REQUIRES: as
  // consume_text().
  std::size_t consume_repeated_texts(std::string_view text, std::size_t max);
  std::int64_t signed_number();
  double real_number();
  // Returns the text of any number.
  std::string_view number_text();
  // Returns an unescaped text, which is valid UTF-8. Valid until the next text or key.
  std::string_view text();
  // Returns whether the last text had escapes.
  bool was_escaped() const { return was_escaped_; }
  // Consumes the text or key if it is next, which is cheaper than reading it. REQUIRES: it came
  // from `text` or `key` without escapes.
  bool consume_text(std::string_view text) {
    peek();
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (left < text.size() + 2 || *at_ != '"' || at_[text.size() + 1] != '"') return false;
    if (std::string_view(at_ + 1, text.size()) != text) return false;
    at_ += text.size() + 2;
    return true;
  }
  bool consume_key(std::string_view text) {
    if (!consume_text(text)) return false;
    if (at_ != end_ && *at_ == ':')
      ++at_;
    else if (!consume(':'))
      fail("a colon was expected");
    return true;
  }
  // Consumes the next `size` bytes if `matches` accepts them, for a comparison that is faster than
  // consume_text().
  template <class Matches>
  bool consume_if(std::size_t size, Matches matches) {
    if (static_cast<std::size_t>(end_ - at_) < size || !matches(at_)) return false;
    at_ += size;
    return true;
  }
  // Skips one value and returns its text. Fails if objects and arrays are nested deeper than
  // `most_depth`.
  std::string_view skip(std::size_t most_depth = kMaxJsonDepth);
  // Skips one value, which may be larger than one that is returned.
  void discard(std::size_t most_depth) { skip_nested_value(most_depth); }
  // Returns the text from a position(), which is before the current one. REQUIRES: text in memory.
  std::string_view text_since(std::size_t position) const {
    return {begin_ + position, static_cast<std::size_t>(at_ - begin_) - position};
  }
  // Reads more slices if fewer than `bytes` of text are left of the current ones, because reading
  // is fastest within a slice.
  void read_ahead(std::size_t bytes) {
    while (source_ && static_cast<std::size_t>(end_ - at_) < bytes && read_more(at_)) {
    }
  }
  // Returns whether only blanks are left.
  bool at_end();

  std::size_t position() const { return discarded_ + static_cast<std::size_t>(at_ - begin_); }

 private:
  void skip_blanks() {
    if (at_ == end_ || *at_ <= ' ') skip_blanks_and_read();
  }
  void skip_blanks_and_read();
  // Appends the next slice to the text. Discards the text before `from`, which is moved with the
  // text. Returns false at the end of all text and after an error.
  bool read_more(const char*& from);
  // Reads more slices until at least `bytes` follow; returns whether they do.
  bool has_bytes(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) read_ahead(bytes);
    return static_cast<std::size_t>(end_ - at_) >= bytes;
  }
  void stop(ScanError::Kind kind, std::string reason);
  bool consume(char c);
  bool consume_word(std::string_view text);
  bool next_or_end(char bracket);
  std::uint64_t read_any_number();
  static const char* read_plain_number(const char* at, std::uint64_t& value);
  static const char* read_more_digits(const char* at, const char* safe, std::uint64_t& value);
  std::string_view number_chars();
  bool unescape(const char* from);
  bool decode_escape();
  bool read_hex4(std::uint32_t& value);
  void skip_nested_value(std::size_t depth_left);

  static constexpr int kSafeDigits = std::numeric_limits<std::uint64_t>::digits10;

  std::string buffer_;  // the current slices of a source
  const char* begin_;
  const char* at_;
  const char* end_;
  const char* kept_ = nullptr;  // start of the value that skip() will return
  TextSource* source_ = nullptr;
  std::size_t discarded_ = 0;  // bytes of text before begin_
  SizeLimits limits_{std::numeric_limits<std::size_t>::max(),
                     std::numeric_limits<std::size_t>::max()};
  bool is_at_first_item_ = false;  // the next call of next() is the first in its array or object
  bool was_escaped_ = false;
  bool has_failed_ = false;
  std::string unescaped_;
  ScanError error_;
};

// Returns whether the text is one JSON value.
bool is_json(std::string_view text);

// Returns the text of a JSON string; nothing for any other text.
std::optional<std::string> parse_json_string(std::string_view json);

// Returns the same JSON without blanks between tokens. REQUIRES: valid JSON.
std::string remove_blanks(std::string_view json);

// The same, with only the escapes that JSON requires.
std::string normalize_json(std::string_view json);

}  // namespace ctprof
