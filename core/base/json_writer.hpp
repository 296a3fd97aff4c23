// The JSON writer, the only place where strings are escaped. It builds text in a buffer, which its
// user empties now and then, into a Sink as a rule.
//
//   JsonWriter out(Escape::Unshowable);
//   out.put('{');
//   out.member("file", path);
//   out.close('}');                                   // {"file":"a.ctprof.zst"}
//
// A string is valid UTF-8 whatever bytes the system gave: U+FFFD replaces what is not. A member
// ends with a comma, which closing the bracket takes back, so no member needs to know whether it is
// first.
//
// What is here:   numbers, strings and brackets, fast.
// What is not:    what they mean; escapes in text for people (render/terminal_text.hpp).

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

// What a string's escapes are for.
enum class Escape {
  Json,        // what JSON demands: for files
  Unshowable,  // and what moves a terminal or hides on one: for output that people may look at
};

class Phrase;

class JsonWriter {
 public:
  explicit JsonWriter(Escape escape = Escape::Json) : escape_(escape) {}

  std::string_view view() const { return {begin_.get(), size()}; }
  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_.get()); }
  bool empty() const { return size() == 0; }
  // Forgets what was written after the first `size` bytes.
  void rewind(std::size_t size) { at_ = begin_.get() + size; }
  void clear() { rewind(0); }
  // Room for so many bytes in all, now: of memory, only what is written to is taken.
  void expect(std::size_t bytes) {
    if (bytes > size()) reserve(bytes - size());
  }

  // JSON as it is.
  void raw(std::string_view text) {
    if (text.empty()) return;
    reserve(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // JSON that was made elsewhere: its strings are escaped further where that is asked for.
  // REQUIRES: valid JSON without blanks outside strings.
  void made(std::string_view json);
  // The first `size` bytes of a block: a single copy of a fixed length, in which most keys fit.
  static constexpr std::size_t kBlock = 32;
  void block(const std::array<char, kBlock>& bytes, std::size_t size) {
    reserve(kBlock);
    std::memcpy(at_, bytes.data(), kBlock);
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
  // The shortest form that reads back the same. REQUIRES: finite.
  void number(double value);
  void boolean(bool value) { raw(value ? "true" : "false"); }
  // Quoted and escaped.
  void text(std::string_view text);
  void key(std::string_view name) {
    text(name);
    put(':');
  }
  // A key, its value, and a comma.
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
  // The same with a key that is a phrase, its colon included: what most of a file in rows is.
  void member(const Phrase& key, std::uint64_t value);
  // Each with a comma: what most of a file in columns is.
  void items(std::span<const std::uint64_t> numbers);
  // Ends an object or an array: takes back the comma of its last member.
  void close(char bracket) {
    if (!empty() && at_[-1] == ',') --at_;
    put(bracket);
  }

 private:
  void reserve(std::size_t more) {
    if (static_cast<std::size_t>(end_ - at_) < more) grow(more);
  }
  void grow(std::size_t more);
  void long_number(std::uint64_t value);
  std::string_view rare(std::string_view text);
  void code_point(std::string_view bytes, char32_t value);
  void escaped(char32_t point);

  std::unique_ptr<char[]> begin_;
  char* at_ = nullptr;
  char* end_ = nullptr;
  Escape escape_;
};

// JSON that is written over and over.
class Phrase {
 public:
  Phrase() = default;
  explicit Phrase(std::string_view text)
      : size_(std::min(text.size(), head_.size())), rest_(text.substr(size_)) {
    std::copy_n(text.begin(), size_, head_.begin());
  }
  bool empty() const { return size_ == 0; }
  void write(JsonWriter& out) const {
    out.block(head_, size_);
    if (!rest_.empty()) out.raw(rest_);
  }

 private:
  friend class JsonWriter;

  std::array<char, JsonWriter::kBlock> head_{};
  std::size_t size_ = 0;
  std::string rest_;
};

// Where finished text goes.
class Sink {
 public:
  // Bytes that are worth a write.
  static constexpr std::size_t kPiece = 64 * 1024;

  virtual ~Sink() = default;
  // An error says why the text could not be taken; nothing more is to be written then.
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
