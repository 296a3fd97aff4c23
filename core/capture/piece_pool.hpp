// Stores pieces of memory of one size, each distinct piece once.
//
// Threads: used by one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ctprof {

class PiecePool {
 public:
  static constexpr std::size_t kSize = 1024;

  // Returns the index of the piece; equal bytes have the same index. REQUIRES: kSize bytes.
  std::uint32_t intern(const std::byte* piece);
  const std::byte* operator[](std::uint32_t piece) const;
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kPiecesPerBlock = 256;
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t piece_plus_one = 0;  // 0: free
  };

  std::size_t find_slot(std::uint64_t hash, const std::byte* piece) const;
  void grow();

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<std::uint64_t> hashes_;  // of each piece, so that growing does not hash again
  std::vector<Slot> slots_;
};

}  // namespace ctprof
