// JSON text under construction, in a buffer that its user empties now and then.
//
// Members end with a comma, which closing the bracket takes back; so nobody has to know who is
// first.
//
// What is here:   numbers, strings and brackets, fast.
// What is not:    what they mean (document.hpp).

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace ctprof {

class JsonOut {
 public:
  std::string_view view() const { return {begin_.get(), size()}; }
  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_.get()); }
  bool empty() const { return size() == 0; }
  // Forgets what was written after the first `size` bytes.
  void rewind(std::size_t size) { at_ = begin_.get() + size; }
  void clear() { rewind(0); }

  // JSON as it is.
  void raw(std::string_view text) {
    reserve(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // The first `size` bytes of a block: one copy of known length, which most keys fit.
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
  // Quoted and escaped; a sequence that is not UTF-8 becomes U+FFFD.
  void text(std::string_view text);
  void key(std::string_view name) {
    text(name);
    put(':');
  }
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

  std::unique_ptr<char[]> begin_;
  char* at_ = nullptr;
  char* end_ = nullptr;
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
  void write(JsonOut& out) const {
    out.block(head_, size_);
    if (!rest_.empty()) out.raw(rest_);
  }

 private:
  std::array<char, JsonOut::kBlock> head_{};
  std::size_t size_ = 0;
  std::string rest_;
};

// Whether every byte belongs to a valid code point.
bool is_utf8(std::string_view text);

// The text as a file holds it: valid UTF-8, with U+FFFD for each longest part that is none.
std::string rendering(std::string_view text);

}  // namespace ctprof
