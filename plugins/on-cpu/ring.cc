#include "plugins/on-cpu/ring.hpp"

#include <algorithm>
#include <cstring>

namespace ctprof::on_cpu {
namespace {

// The size of a record is a 16-bit number.
constexpr std::size_t kMostRecord = 65'536;

}  // namespace

perf_event_header header_of(Bytes record) {
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  return header;
}

Ring::Ring(perf_event_mmap_page* page, const std::byte* data, std::size_t size)
    : page_(page),
      data_(data),
      size_(size),
      position_(page->data_tail),
      written_(position_),
      whole_(kMostRecord / sizeof(std::uint64_t)) {}

void Ring::look() {
  written_ = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  find();
}

void Ring::skip() {
  position_ += record_.size();
  find();
}

void Ring::give_back() { __atomic_store_n(&page_->data_tail, position_, __ATOMIC_RELEASE); }

void Ring::find() {
  record_ = {};
  const std::uint64_t left = written_ - position_;
  if (left == 0) return;
  const std::size_t at = position_ & (size_ - 1);
  const std::size_t in_a_row = size_ - at;
  perf_event_header header{};
  if (left >= sizeof header && in_a_row >= sizeof header)
    std::memcpy(&header, data_ + at, sizeof header);
  const std::size_t size = header.size;
  if (size < sizeof header || size % 8 != 0 || size > left || left > size_) {
    ++torn_;
    position_ = written_;
    return;
  }
  if (size <= in_a_row) {
    record_ = {data_ + at, size};
    return;
  }
  auto* whole = reinterpret_cast<std::byte*>(whole_.data());
  std::memcpy(whole, data_ + at, in_a_row);
  std::memcpy(whole + in_a_row, data_, size - in_a_row);
  record_ = {whole, size};
}

}  // namespace ctprof::on_cpu
