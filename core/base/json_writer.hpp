// Writes JSON into a buffer; the only code that escapes JSON strings. Its user empties the buffer
// regularly, usually into a Sink.
//
//   JsonWriter out(Escape::Unprintable);
//   out.put('{');
//   out.member("file", path);
//   out.close('}');                                   // {"file":"a.ctprof.zst"}
//
// A string is valid UTF-8 for any input bytes: U+FFFD replaces invalid ones. A member ends
// with a comma, which closing the bracket removes, so that all members are written in the same
// way.
//
// See also: render/terminal_text.hpp escapes plain text.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ctprof {

// Selects the characters of a string that are escaped.
enum class Escape {
  Json,         // as JSON requires: for files
  Unprintable,  // also characters that control a terminal or are invisible: for output on terminals
};

class PreparedJson;

class JsonWriter {
 public:
  explicit JsonWriter(Escape escape = Escape::Json) : escape_(escape) {}

  std::string_view view() const { return {begin_.get(), size()}; }
  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_.get()); }
  bool empty() const { return size() == 0; }
  // Removes all but the first `size` bytes.
  void truncate(std::size_t size) { at_ = begin_.get() + size; }
  void clear() { truncate(0); }
  // Sets the total capacity in bytes. Memory pages are only used when they are written to.
  void set_capacity(std::size_t bytes) {
    if (bytes > size()) reserve(bytes - size());
  }

  // Appends JSON unchanged.
  void raw(std::string_view text) {
    if (text.empty()) return;
    reserve(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // Appends existing JSON; escapes its strings further if the Escape requires that. REQUIRES: valid
  // JSON without blanks outside strings.
  void embed(std::string_view json);
  // Appends the first `size` bytes of a block. Copies a fixed length in one step; most keys fit.
  static constexpr std::size_t kBlockBytes = 32;
  void put_block(const std::array<char, kBlockBytes>& bytes, std::size_t size) {
    reserve(kBlockBytes);
    std::memcpy(at_, bytes.data(), kBlockBytes);
    at_ += size;
  }
  void put(char c) {
    reserve(1);
    *at_++ = c;
  }
  void number(std::uint64_t value) {
    value < 10 ? put(static_cast<char>('0' + value)) : long_number(value);
  }
  void number(std::int64_t value);
  // Writes the shortest form that reads back as the same value. REQUIRES: finite.
  void number(double value);
  void boolean(bool value) { raw(value ? "true" : "false"); }
  // Writes a quoted and escaped string.
  void text(std::string_view text);
  void key(std::string_view name) {
    text(name);
    put(':');
  }
  // Writes a key, its value, and a comma.
  void member(std::string_view name, std::string_view value) {
    key(name);
    text(value);
    put(',');
  }
  void member(std::string_view name, std::uint64_t value) {
    key(name);
    number(value);
    put(',');
  }
  // Same with a prepared key that includes its colon. Used for most of a rows file.
  void member(const PreparedJson& key, std::uint64_t value);
  // Writes each number with a comma. Used for most of a columns file.
  void items(std::span<const std::uint64_t> numbers);
  // Ends an object or an array: removes the comma of its last member.
  void close(char bracket) {
    if (!empty() && at_[-1] == ',') --at_;
    put(bracket);
  }

 private:
  void reserve(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) grow(bytes);
  }
  void grow(std::size_t bytes);
  void long_number(std::uint64_t value);
  std::string_view put_special(std::string_view text);
  void put_code_point(std::string_view bytes, char32_t value);
  void put_escape(char32_t point);

  std::unique_ptr<char[]> begin_;
  char* at_ = nullptr;
  char* end_ = nullptr;
  Escape escape_;
};

// JSON text that is written repeatedly.
class PreparedJson {
 public:
  PreparedJson() = default;
  explicit PreparedJson(std::string_view text)
      : size_(std::min(text.size(), head_.size())), rest_(text.substr(size_)) {
    std::copy_n(text.begin(), size_, head_.begin());
  }
  bool empty() const { return size_ == 0; }
  void write(JsonWriter& out) const {
    out.put_block(head_, size_);
    if (!rest_.empty()) out.raw(rest_);
  }

 private:
  friend class JsonWriter;

  std::array<char, JsonWriter::kBlockBytes> head_{};
  std::size_t size_ = 0;
  std::string rest_;
};

// A destination of finished text.
class Sink {
 public:
  // Size at which a write is worthwhile.
  static constexpr std::size_t kFlushBytes = 64 * 1024;

  virtual ~Sink() = default;
  // Returns an error if the text was not accepted; then nothing more may be written.
  virtual Result<void> write(std::string_view text) = 0;
};

class StringSink final : public Sink {
 public:
  Result<void> write(std::string_view text) override {
    text_ += text;
    return {};
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace ctprof
