#include "plugins/task-iter/ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ctprof::task_iter {
namespace {

// The length word before each record, and a second word with the page offset.
constexpr std::size_t kHeaderSize = 8;

std::byte* map_pages(int buffer, std::size_t size, int protection, std::size_t offset) {
  void* pages = ::mmap(nullptr, size, protection, MAP_SHARED, buffer, static_cast<off_t>(offset));
  if (pages == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "mapping the buffer of exited threads");
  return static_cast<std::byte*>(pages);
}

template <class T>
std::atomic_ref<T> atomic_at(std::byte* address) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(address));
}

template <class T>
T load_acquire(const std::byte* address) {
  return __atomic_load_n(reinterpret_cast<const T*>(address), __ATOMIC_ACQUIRE);
}

}  // namespace

Ring::Ring(int buffer, std::size_t size)
    : size_(size),
      page_size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      consumer_page_(map_pages(buffer, page_size_, PROT_READ | PROT_WRITE, 0)) {
  try {
    producer_page_ = map_pages(buffer, page_size_ + 2 * size_, PROT_READ, page_size_);
  } catch (...) {
    ::munmap(consumer_page_, page_size_);
    throw;
  }
}

Ring::~Ring() {
  ::munmap(consumer_page_, page_size_);
  ::munmap(producer_page_, page_size_ + 2 * size_);
}

Ring::FoundRecord Ring::next() const {
  const auto position = load_acquire<std::uint64_t>(consumer_page_);
  if (position >= load_acquire<std::uint64_t>(producer_page_)) return {};
  const std::byte* record = producer_page_ + page_size_ + (position & (size_ - 1));
  const auto header = load_acquire<std::uint32_t>(record);
  if ((header & kBusy) != 0) return {};  // the record is still being written
  return {header, {record + kHeaderSize, header & ~kDiscarded}};
}

void Ring::skip(const FoundRecord& record) {
  const std::size_t length = (kHeaderSize + record.bytes.size() + 7) / 8 * 8;
  auto position = atomic_at<std::uint64_t>(consumer_page_);
  position.store(position.load(std::memory_order_relaxed) + length, std::memory_order_release);
}

}  // namespace ctprof::task_iter
