// One line of text made in a signal handler: no allocation, no locale, one write.

#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

class SignalLine {
 public:
  SignalLine() { *this << "ctprof: "; }

  SignalLine& operator<<(std::string_view text) {
    for (const char letter : text) put(letter);
    return *this;
  }
  SignalLine& operator<<(int number) {
    if (number > 9) *this << number / 10;
    put(static_cast<char>('0' + number % 10));
    return *this;
  }
  // "FILE: collect of source 'x'"
  SignalLine& call(const CallOwner& owner, const char* function) {
    name(owner.file) << ": " << function;
    if (!owner.source.empty()) *this << " of ", name(owner.source);
    return *this;
  }
  // A name from outside: what is not plain ASCII is shown as "\xff".
  SignalLine& name(std::string_view text) {
    for (const char letter : text)
      is_plain(letter) ? put(letter) : escape(static_cast<unsigned char>(letter));
    return *this;
  }

  // Writes the line to standard error. REQUIRES: last.
  void say() {
    if (size_ == text_.size()) --size_;
    text_[size_++] = '\n';
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text_.data(), size_);
  }

 private:
  static bool is_plain(char letter) { return letter >= ' ' && letter <= '~'; }
  void escape(unsigned char byte) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    *this << "\\x";
    put(kDigits[byte >> 4]);
    put(kDigits[byte & 15]);
  }
  void put(char letter) {
    if (size_ < text_.size()) text_[size_++] = letter;
  }

  std::array<char, 2048> text_;
  std::size_t size_ = 0;
};

// What to do about a plugin that does not let ctprof work.
inline constexpr std::string_view kDoWithout =
    "; take that file away, or name the plugins to use with --plugins";

}  // namespace ctprof::cli
