#include "plugins/sleepers/pass.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ctprof::sleepers {

std::uint8_t* CopyBuffer::reserve(std::size_t used, std::size_t more) {
  if (used + more > size_) {
    const std::size_t size = std::max(used + more, 2 * size_);
    std::shared_ptr<std::uint8_t[]> bytes(new std::uint8_t[size]);
    if (used > 0) std::memcpy(bytes.get(), bytes_.get(), used);
    bytes_ = std::move(bytes);
    size_ = size;
  }
  return bytes_.get() + used;
}

void CopyBuffer::move_away(std::size_t used) {
  std::shared_ptr<std::uint8_t[]> bytes(new std::uint8_t[size_]);
  if (used > 0) std::memcpy(bytes.get(), bytes_.get(), used);
  bytes_ = std::move(bytes);
}

void Pass::clear() {
  changed_sleepers.clear();
  unchanged.clear();
  hidden_stacks.clear();
  visited_tgids.clear();
  addresses.clear();
  copied = copied_extra = 0;
  cpu_ns = unsampled = at_ns = 0;
}

}  // namespace ctprof::sleepers
