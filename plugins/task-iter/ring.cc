#include "plugins/task-iter/ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ctprof::task_iter {
namespace {

// The length word before each record, and a second word with the page offset.
constexpr std::size_t kHeader = 8;

std::byte* map(int buffer, std::size_t size, int protection, std::size_t offset) {
  void* pages = ::mmap(nullptr, size, protection, MAP_SHARED, buffer, static_cast<off_t>(offset));
  if (pages == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "mapping the buffer of exited threads");
  return static_cast<std::byte*>(pages);
}

template <class T>
std::atomic_ref<T> shared(std::byte* at) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(at));
}

template <class T>
T loaded(const std::byte* at) {
  return __atomic_load_n(reinterpret_cast<const T*>(at), __ATOMIC_ACQUIRE);
}

}  // namespace

Ring::Ring(int buffer, std::size_t size)
    : size_(size),
      page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      read_until_(map(buffer, page_, PROT_READ | PROT_WRITE, 0)) {
  try {
    written_ = map(buffer, page_ + 2 * size_, PROT_READ, page_);
  } catch (...) {
    ::munmap(read_until_, page_);
    throw;
  }
}

Ring::~Ring() {
  ::munmap(read_until_, page_);
  ::munmap(written_, page_ + 2 * size_);
}

Ring::Found Ring::next() const {
  const auto position = loaded<std::uint64_t>(read_until_);
  if (position >= loaded<std::uint64_t>(written_)) return {};
  const std::byte* record = written_ + page_ + (position & (size_ - 1));
  const auto header = loaded<std::uint32_t>(record);
  if ((header & kBusy) != 0) return {};  // the record is still being written
  return {header, {record + kHeader, header & ~kDiscarded}};
}

void Ring::skip(const Found& found) {
  const std::size_t length = (kHeader + found.bytes.size() + 7) / 8 * 8;
  auto position = shared<std::uint64_t>(read_until_);
  position.store(position.load(std::memory_order_relaxed) + length, std::memory_order_release);
}

}  // namespace ctprof::task_iter
