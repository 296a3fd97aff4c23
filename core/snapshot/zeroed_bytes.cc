#include "core/snapshot/zeroed_bytes.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace ctprof {
namespace {

// From here on whole pages; below, the allocator's zeroing is cheaper than a system call.
constexpr std::size_t kPages = 64 * 1024;

std::byte* zeroed(std::size_t size) {
  void* bytes = size < kPages ? std::calloc(size, 1)
                              : ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!bytes || bytes == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(bytes);
}

}  // namespace

void ZeroedBytes::Free::operator()(std::byte* bytes) const {
  if (capacity < kPages)
    std::free(bytes);
  else
    ::munmap(bytes, capacity);
}

void ZeroedBytes::resize(std::size_t size) {
  const std::size_t capacity = bytes_.get_deleter().capacity;
  if (size > capacity) reserve(std::max(size, 2 * capacity));
  if (size > size_ && size_ < used_) std::memset(data() + size_, 0, std::min(size, used_) - size_);
  size_ = size;
  used_ = std::max(used_, size);
}

void ZeroedBytes::reserve(std::size_t capacity) {
  if (capacity <= bytes_.get_deleter().capacity) return;
  std::unique_ptr<std::byte, Free> larger(zeroed(capacity), Free{capacity});
  if (size_ > 0) std::memcpy(larger.get(), data(), size_);
  bytes_ = std::move(larger);
  used_ = size_;
}

}  // namespace ctprof
