#include "plugins/on-cpu/ring.hpp"

#include <algorithm>
#include <cstring>

namespace ctprof::on_cpu {
namespace {

// The size of a record is a 16-bit number.
constexpr std::size_t kMaxRecordBytes = 65'536;

}  // namespace

perf_event_header read_header(Bytes record) {
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  return header;
}

Ring::Ring(perf_event_mmap_page* page, const std::byte* data, std::size_t size)
    : page_(page),
      data_(data),
      size_(size),
      position_(page->data_tail),
      end_position_(position_),
      wrapped_record_(kMaxRecordBytes / sizeof(std::uint64_t)) {}

void Ring::look_for_records() {
  end_position_ = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  find_record();
}

void Ring::skip() {
  position_ += record_.size();
  find_record();
}

void Ring::release() { __atomic_store_n(&page_->data_tail, position_, __ATOMIC_RELEASE); }

void Ring::find_record() {
  record_ = {};
  const std::uint64_t bytes_left = end_position_ - position_;
  if (bytes_left == 0) return;
  const std::size_t offset = position_ & (size_ - 1);
  const std::size_t contiguous_bytes = size_ - offset;
  perf_event_header header{};
  if (bytes_left >= sizeof header && contiguous_bytes >= sizeof header)
    std::memcpy(&header, data_ + offset, sizeof header);
  const std::size_t size = header.size;
  if (size < sizeof header || size % 8 != 0 || size > bytes_left || bytes_left > size_) {
    ++invalid_count_;
    position_ = end_position_;
    return;
  }
  if (size <= contiguous_bytes) {
    record_ = {data_ + offset, size};
    return;
  }
  auto* buffer = reinterpret_cast<std::byte*>(wrapped_record_.data());
  std::memcpy(buffer, data_ + offset, contiguous_bytes);
  std::memcpy(buffer + contiguous_bytes, data_, size - contiguous_bytes);
  record_ = {buffer, size};
}

}  // namespace ctprof::on_cpu
