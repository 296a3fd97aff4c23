#include "plugins/sleepers/pass.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ctprof::sleepers {

std::uint8_t* Bytes::room(std::size_t used, std::size_t more) {
  if (used + more > size_) {
    const std::size_t size = std::max(used + more, 2 * size_);
    std::shared_ptr<std::uint8_t[]> bytes(new std::uint8_t[size]);
    if (used > 0) std::memcpy(bytes.get(), bytes_.get(), used);
    bytes_ = std::move(bytes);
    size_ = size;
  }
  return bytes_.get() + used;
}

void Bytes::move_away(std::size_t used) {
  std::shared_ptr<std::uint8_t[]> bytes(new std::uint8_t[size_]);
  if (used > 0) std::memcpy(bytes.get(), bytes_.get(), used);
  bytes_ = std::move(bytes);
}

void Pass::clear() {
  fresh.clear();
  again.clear();
  closed.clear();
  met.clear();
  addresses.clear();
  copied = copied_beyond = 0;
  cpu_ns = unseen = at_ns = 0;
}

}  // namespace ctprof::sleepers
