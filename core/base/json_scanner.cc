#include "core/base/json_scanner.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/base/text.hpp"

namespace ctprof {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_number_char(char c) {
  return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// Removes the digits with which the text begins. Returns whether there were any.
bool remove_digits(std::string_view& text) {
  const std::size_t size = text.size();
  text.remove_prefix(std::min(size, text.find_first_not_of("0123456789")));
  return text.size() < size;
}

// Returns whether the text is a number in JSON. from_chars also accepts ".5", "1." and "01".
bool is_json_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool begins_with_zero = text.starts_with('0');
  const std::size_t size = text.size();
  if (!remove_digits(text) || (begins_with_zero && size - text.size() > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!remove_digits(text)) return false;
  }
  if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return remove_digits(text) && text.empty();
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

std::string Scanner::error_text() const {
  if (!has_failed_ || error_.kind == ScanError::Kind::Source) return error_.reason;
  return error_.reason + " at byte " + std::to_string(error_.position);
}

void Scanner::restart(std::string_view text) {
  begin_ = at_ = text.data();
  end_ = begin_ + text.size();
  source_ = nullptr;
  discarded_ = 0;
  has_failed_ = false;
  error_ = {};
}

void Scanner::fail(std::string_view what) {
  const bool is_at_end = at_ == end_ && !source_;
  const auto kind = is_at_end ? ScanError::Kind::EndOfText : ScanError::Kind::Syntax;
  stop(kind, std::string(what));
}

void Scanner::stop(ScanError::Kind kind, std::string reason) {
  if (std::exchange(has_failed_, true)) return;
  error_ = {.kind = kind, .reason = std::move(reason), .position = position()};
  at_ = end_;
  source_ = nullptr;
  kept_ = nullptr;
}

bool Scanner::read_more(const char*& from) {
  if (!source_) return false;
  const char* const keep = kept_ ? kept_ : from;
  if (static_cast<std::size_t>(end_ - keep) > limits_.value_bytes) {
    const std::string most = std::to_string(limits_.value_bytes);
    return stop(ScanError::Kind::Limit, "a value is longer than " + most + " bytes"), false;
  }
  const auto slice = source_->next();
  if (!slice) return stop(ScanError::Kind::Source, slice.error().text), false;
  if (slice->empty()) return source_ = nullptr, false;
  const std::ptrdiff_t to_at = at_ - keep, to_from = from - keep;
  const auto before = static_cast<std::size_t>(keep - begin_);
  discarded_ += before;
  buffer_.erase(0, before);
  buffer_.append(*slice);
  begin_ = buffer_.data();
  end_ = begin_ + buffer_.size();
  at_ = begin_ + to_at;
  from = begin_ + to_from;
  if (kept_) kept_ = begin_;
  return true;
}

void Scanner::skip_blanks_and_read() {
  do
    while (at_ != end_ && is_blank(*at_)) ++at_;
  while (at_ == end_ && read_more(at_));
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
  std::string_view name = text();
  // The colon may be in the next slice, which replaces the text of this one.
  if (source_ && !was_escaped_ && (at_ == end_ || *at_ != ':')) name = unescaped_ = name;
  if (!has_failed() && !consume(':')) fail("a colon was expected");
  return has_failed() ? std::string_view{} : name;
}

bool Scanner::consume_word(std::string_view text) {
  constexpr std::size_t kWordSize = 4;  // null, true: the compiler inlines this comparison
  if (!has_bytes(text.size())) return false;
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

std::uint64_t Scanner::read_any_number() {
  const std::string_view text = number_chars();
  std::uint64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = code == std::errc{} && stop == text.data() + text.size();
  if (is_whole && (text.size() == 1 || text.front() != '0')) return value;
  fail("a whole number from 0 to 18446744073709551615 was expected");
  return 0;
}

std::int64_t Scanner::signed_number() {
  const std::string_view text = number_chars();
  std::int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_whole = code == std::errc{} && stop == text.data() + text.size();
  if (is_whole && (digits.size() == 1 || digits.front() != '0')) return value;
  fail("a whole number was expected");
  return 0;
}

double Scanner::real_number() {
  const std::string_view text = number_chars();
  if (!is_json_number(text)) return fail("a number was expected"), 0;
  double value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && stop == text.data() + text.size() && std::isfinite(value))
    return value;
  fail("a number was expected");
  return 0;
}

std::string_view Scanner::number_text() {
  const std::string_view text = number_chars();
  if (!is_json_number(text)) fail("a number was expected");
  return has_failed_ ? std::string_view{} : text;
}

std::string_view Scanner::number_chars() {
  peek();
  const char* start = at_;
  do
    while (at_ != end_ && is_number_char(*at_)) ++at_;
  while (at_ == end_ && static_cast<std::size_t>(at_ - start) <= limits_.string_bytes &&
         read_more(start));
  return {start, static_cast<std::size_t>(at_ - start)};
}

std::string_view Scanner::text() {
  if (!consume('"')) return fail("a text was expected"), std::string_view{};
  const char* start = at_;
  was_escaped_ = false;
  unsigned char high = 0;
  do
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20)
      high |= static_cast<unsigned char>(*at_++);
  while (at_ == end_ && static_cast<std::size_t>(at_ - start) <= limits_.string_bytes &&
         read_more(start));
  if (has_failed_) return {};
  if (at_ == end_ || *at_ != '"') {
    was_escaped_ = true;
    if (!unescape(start)) return {};
    return unescaped_;
  }
  const std::string_view found(start, static_cast<std::size_t>(at_++ - start));
  if (found.size() > limits_.string_bytes)
    return stop(ScanError::Kind::Limit, "a text is too long"), std::string_view{};
  if (high < 0x80 || is_utf8(found)) return found;
  return fail("a text is not UTF-8"), std::string_view{};
}

// Decodes the text again from its beginning.
bool Scanner::unescape(const char* from) {
  unescaped_.clear();
  for (at_ = from; has_bytes(1) && *at_ != '"';) {
    if (unescaped_.size() > limits_.string_bytes)
      return stop(ScanError::Kind::Limit, "a text is too long"), false;
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
  if (!has_bytes(2)) return false;
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
  if (!has_bytes(4)) return false;
  const auto [stop, code] = std::from_chars(at_, at_ + 4, value, 16);
  const bool fine = code == std::errc{} && stop == at_ + 4 && *at_ != '-';
  at_ += 4;
  return fine;
}

std::string_view Scanner::skip(std::size_t most_depth) {
  peek();
  kept_ = at_;
  skip_nested_value(most_depth);
  const char* const start = std::exchange(kept_, nullptr);
  return has_failed() ? std::string_view{}
                      : std::string_view(start, static_cast<std::size_t>(at_ - start));
}

void Scanner::skip_nested_value(std::size_t depth_left) {
  const char c = peek();
  if (c == '"') return void(text());
  if (c == 'n' && consume_word("null")) return;
  if (c == 't' || c == 'f') return void(boolean());
  if (c == '-' || is_digit(c)) return void(number_text());
  if (c != '[' && c != '{') return fail("a value was expected");
  if (depth_left == 0)
    return stop(ScanError::Kind::Limit,
                "values are nested more than " + std::to_string(kMaxJsonDepth) + " deep");
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

namespace {

void copy_value(Scanner& in, JsonWriter& out) {
  const char first = in.peek();
  if (first == '"') return out.text(in.text());
  if (first != '{' && first != '[') return out.raw(in.skip());
  const char closing = first == '{' ? '}' : ']';
  out.put(first);
  for (in.enter(first); in.next(closing); out.put(',')) {
    if (first == '{') out.key(in.key());
    copy_value(in, out);
  }
  out.close(closing);
}

}  // namespace

std::string normalize_json(std::string_view json) {
  if (json.find('\\') == json.npos) return remove_blanks(json);
  Scanner in(json);
  JsonWriter out;
  copy_value(in, out);
  return std::string(out.view());
}

bool is_json(std::string_view text) {
  Scanner in(text);
  in.skip();
  return in.at_end();
}

std::optional<std::string> parse_json_string(std::string_view json) {
  Scanner in(json);
  if (in.peek() != '"') return std::nullopt;
  std::string text(in.text());
  return in.at_end() ? std::optional(std::move(text)) : std::nullopt;
}

bool Scanner::at_end() { return !has_failed() && peek() == '\0' && at_ == end_; }

}  // namespace ctprof
