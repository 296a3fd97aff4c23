// JSON text under construction, in a buffer that its user empties now and then.
//
// Members end with a comma, which closing the bracket takes back; so nobody has to know who is first.
//
// What is here:   numbers, strings and brackets, fast.
// What is not:    what they mean (document.hpp).

#pragma once

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
  void put(char c) {
    reserve(1);
    *at_++ = c;
  }
  void number(std::uint64_t value);
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
  std::string_view rare(std::string_view text);

  std::unique_ptr<char[]> begin_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

// Whether every byte belongs to a valid code point.
bool is_utf8(std::string_view text);

// The text as a file holds it: valid UTF-8, with U+FFFD for each longest part that is none.
std::string rendering(std::string_view text);

}  // namespace ctprof
