// Reads consecutive numbers from bytes that may be truncated or hostile.
//
// It never reads outside them. After the first read that does not fit, all reads return zero and
// ok() is false, so a decoder checks once at its end. The size of a number or text is limited:
// otherwise a text of many megabytes could be read again for each entry that refers to it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ctprof {

class ByteCursor {
 public:
  // `at` may be outside the bytes.
  explicit ByteCursor(std::string_view bytes, std::uint64_t at = 0) : bytes_(bytes) { skip(at); }

  bool ok() const { return ok_; }
  bool at_end() const { return position_ == bytes_.size(); }
  std::size_t position() const { return position_; }

  template <class T>
  T get() {
    T value{};
    const std::string_view source = take(sizeof value);
    if (ok_) std::memcpy(&value, source.data(), sizeof value);
    return value;
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - position_) ok_ = false;
    if (!ok_) return {};
    const std::string_view taken = bytes_.substr(position_, static_cast<std::size_t>(size));
    position_ += taken.size();
    return taken;
  }
  void skip(std::uint64_t size) { take(size); }

  // Reads up to and including the next NUL; fails if the text has more than `max_size` bytes.
  std::string_view text(std::size_t max_size) {
    const auto end = bytes_.substr(position_, max_size + 1).find('\0');
    if (end == bytes_.npos) ok_ = false;
    const std::string_view text = take(ok_ ? end : 0);
    skip(1);
    return text;
  }

  // Reads LEB128. Bits above the 64th are dropped; a number of more than 16 bytes fails.
  std::uint64_t read_unsigned_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < kMaxLebBits; shift += 7) {
      const auto byte = get<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t read_signed_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < kMaxLebBits;) {
      const auto byte = get<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
    ok_ = false;
    return 0;
  }

 private:
  // Assemblers pad a number to at most ten bytes.
  static constexpr unsigned kMaxLebBits = 16 * 7;

  std::string_view bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace ctprof
