#include "core/capture/piece_pool.hpp"

#include <algorithm>
#include <cstring>

#include "core/capture/memory_hash.hpp"

namespace ctprof {

const std::byte* PiecePool::operator[](std::uint32_t piece) const {
  return blocks_[piece / kPiecesPerBlock].get() + piece % kPiecesPerBlock * kSize;
}

std::size_t PiecePool::bytes() const {
  return blocks_.size() * kPiecesPerBlock * kSize + hashes_.size() * sizeof(std::uint64_t) +
         slots_.size() * sizeof(Slot);
}

// Returns the slot of the piece, or the free slot where it belongs.
std::size_t PiecePool::find_slot(std::uint64_t hash, const std::byte* piece) const {
  const std::size_t mask = slots_.size() - 1;
  const std::uint32_t tag = tag_of(hash);
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.piece_plus_one == 0) return at;
    if (slot.tag == tag && std::memcmp((*this)[slot.piece_plus_one - 1], piece, kSize) == 0)
      return at;
  }
}

void PiecePool::grow() {
  slots_.assign(std::max<std::size_t>(1024, slots_.size() * 2), Slot{});
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t piece = 0; piece < hashes_.size(); ++piece) {
    std::size_t at = hashes_[piece] & mask;
    while (slots_[at].piece_plus_one != 0) at = (at + 1) & mask;
    slots_[at] = {tag_of(hashes_[piece]), piece + 1};
  }
}

std::uint32_t PiecePool::intern(const std::byte* piece) {
  if (hashes_.size() * 2 >= slots_.size()) grow();
  const std::uint64_t hash = hash_of({piece, kSize});
  Slot& slot = slots_[find_slot(hash, piece)];
  if (slot.piece_plus_one != 0) return slot.piece_plus_one - 1;
  const auto number = static_cast<std::uint32_t>(hashes_.size());
  if (number % kPiecesPerBlock == 0)
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kPiecesPerBlock * kSize));
  std::memcpy(blocks_.back().get() + number % kPiecesPerBlock * kSize, piece, kSize);
  hashes_.push_back(hash);
  slot = {tag_of(hash), number + 1};
  return number;
}

}  // namespace ctprof
