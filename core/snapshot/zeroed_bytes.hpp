// Bytes that are zero until they are written, and cost nothing until then: many of them are pages
// that the kernel gives when they are first touched.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace ctprof {

class ZeroedBytes {
 public:
  ZeroedBytes() = default;
  explicit ZeroedBytes(std::size_t size) { resize(size); }
  ZeroedBytes(ZeroedBytes&& other) noexcept { swap(other); }
  ZeroedBytes& operator=(ZeroedBytes&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }

  // New bytes are zero, also where there were others before.
  void resize(std::size_t size);
  void reserve(std::size_t capacity);
  void swap(ZeroedBytes& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(used_, other.used_);
  }

 private:
  struct Free {
    std::size_t capacity;
    void operator()(std::byte* bytes) const;
  };

  std::unique_ptr<std::byte, Free> bytes_{nullptr, Free{0}};
  std::size_t size_ = 0;
  std::size_t used_ = 0;  // what lies beyond was never written
};

}  // namespace ctprof
