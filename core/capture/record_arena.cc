// An entry is a head, a copy of the struct, and the data that its pointers refer to, each aligned
// to eight bytes. A stack copy consists of the bytes before the first boundary, the indexes of the
// pieces, and the bytes after the last boundary.

#include "core/capture/record_arena.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/seeded_hash.hpp"

namespace ctprof {
namespace {

struct Head {
  std::uint32_t bytes;  // size of the whole entry
  std::uint32_t is_change;
};

constexpr std::size_t round_up_to_8(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

// Processes four words per step, so that the multiplications overlap.
std::uint64_t hash_of(const std::byte* piece) {
  static const std::uint64_t seed = SeededHash()(std::uint64_t{1}) | 1;
  std::array<std::uint64_t, 4> lanes{seed, seed + 2, seed + 4, seed + 6}, words;
  for (std::size_t at = 0; at < PiecePool::kSize; at += sizeof words) {
    std::memcpy(words.data(), piece + at, sizeof words);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const std::uint64_t mixed = (lanes[i] ^ words[i]) * (seed ^ 0x9e3779b97f4a7c14);
      lanes[i] = mixed ^ mixed >> 29;
    }
  }
  std::uint64_t hash = seed;
  for (const std::uint64_t lane : lanes) hash = SeededHash()(hash ^ lane);
  return hash;
}

std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// Sizes of the parts into which a stack copy is split.
struct StackSplit {
  StackSplit(std::uint64_t sp, std::size_t size)
      : first(std::min(size, (PiecePool::kSize - sp % PiecePool::kSize) % PiecePool::kSize)),
        pieces((size - first) / PiecePool::kSize),
        last(size - first - pieces * PiecePool::kSize) {}

  std::size_t first;   // bytes before the first boundary
  std::size_t pieces;  // between two boundaries
  std::size_t last;    // bytes after the last boundary
  std::size_t bytes_in_entry() const {
    return round_up_to_8(first) + round_up_to_8(pieces * sizeof(std::uint32_t)) +
           round_up_to_8(last);
  }
};

StackSplit split_of(const ctprof_record& record) { return {record.sp, record.stack_size}; }

// Reads the data after the struct of an entry.
class Reader {
 public:
  explicit Reader(const std::byte* at) : at_(at) {}

  const std::byte* take(std::size_t bytes) {
    const std::byte* taken = at_;
    at_ += round_up_to_8(bytes);
    return taken;
  }
  const std::uint64_t* take_addresses(std::size_t count) {
    return reinterpret_cast<const std::uint64_t*>(take(count * sizeof(std::uint64_t)));
  }
  ctprof_text take_text(std::size_t size) {
    return {reinterpret_cast<const char*>(take(size)), size};
  }

 private:
  const std::byte* at_;
};

}  // namespace

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
  const std::uint64_t hash = hash_of(piece);
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

// Writes the data after the head of an entry.
class RecordArena::Writer {
 public:
  explicit Writer(std::byte* at) : at_(at) {}

  void put(const void* data, std::size_t bytes) {
    copy(at_, data, bytes);
    at_ += round_up_to_8(bytes);
  }
  void put_stack(const ctprof_record& record, PiecePool& pool) {
    const StackSplit split = split_of(record);
    const auto* memory = reinterpret_cast<const std::byte*>(record.stack);
    put(memory, split.first);
    auto* numbers = reinterpret_cast<std::uint32_t*>(at_);
    for (std::size_t i = 0; i < split.pieces; ++i)
      numbers[i] = pool.intern(memory + split.first + i * PiecePool::kSize);
    at_ += round_up_to_8(split.pieces * sizeof(std::uint32_t));
    put(memory + record.stack_size - split.last, split.last);
  }

 private:
  std::byte* at_;
};

std::size_t RecordArena::bytes() const { return blocks_.size() * kBlockBytes + pieces_.bytes(); }

std::byte* RecordArena::allocate(std::size_t bytes) {
  if (this->bytes() > budget_) return nullptr;
  if (blocks_.empty() || blocks_.back().used + bytes > kBlockBytes) {
    if (this->bytes() + kBlockBytes > budget_) return nullptr;
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(kBlockBytes), 0});
  }
  Block& block = blocks_.back();
  return block.bytes.get() + std::exchange(block.used, block.used + bytes);
}

bool RecordArena::add(const ctprof_record& record) {
  const std::size_t bytes =
      sizeof(Head) + sizeof record +
      (std::size_t{record.kernel_count} + record.user_count) * sizeof(std::uint64_t) +
      split_of(record).bytes_in_entry();
  std::byte* entry = allocate(bytes);
  if (!entry) return false;
  const Head head{static_cast<std::uint32_t>(bytes), 0};
  Writer writer(entry);
  writer.put(&head, sizeof head);
  writer.put(&record, sizeof record);
  writer.put(record.kernel, record.kernel_count * sizeof(std::uint64_t));
  writer.put(record.user, record.user_count * sizeof(std::uint64_t));
  writer.put_stack(record, pieces_);
  return true;
}

bool RecordArena::add(const ctprof_change& change) {
  const std::size_t bytes = sizeof(Head) + sizeof change + round_up_to_8(change.path.size);
  std::byte* entry = allocate(bytes);
  if (!entry) return false;
  const Head head{static_cast<std::uint32_t>(bytes), 1};
  Writer writer(entry);
  writer.put(&head, sizeof head);
  writer.put(&change, sizeof change);
  writer.put(change.path.data, change.path.size);
  return true;
}

void RecordArena::next(Cursor& cursor) const {
  Head head;
  std::memcpy(&head, entry(cursor), sizeof head);
  cursor.offset += head.bytes;
  if (cursor.offset == blocks_[cursor.block].used) cursor = {cursor.block + 1, 0};
}

bool RecordArena::is_change(const Cursor& cursor) const {
  Head head;
  std::memcpy(&head, entry(cursor), sizeof head);
  return head.is_change != 0;
}

ctprof_change RecordArena::change_at(const Cursor& cursor) const {
  Reader reader(entry(cursor) + sizeof(Head));
  ctprof_change change;
  std::memcpy(&change, reader.take(sizeof change), sizeof change);
  change.path = reader.take_text(change.path.size);
  return change;
}

ctprof_record RecordArena::record_at(const Cursor& cursor, std::vector<std::uint8_t>& stack) const {
  Reader reader(entry(cursor) + sizeof(Head));
  ctprof_record record;
  std::memcpy(&record, reader.take(sizeof record), sizeof record);
  record.kernel = reader.take_addresses(record.kernel_count);
  record.user = reader.take_addresses(record.user_count);
  const StackSplit split = split_of(record);
  stack.resize(record.stack_size);
  copy(stack.data(), reader.take(split.first), split.first);
  const auto* numbers =
      reinterpret_cast<const std::uint32_t*>(reader.take(split.pieces * sizeof(std::uint32_t)));
  for (std::size_t i = 0; i < split.pieces; ++i)
    copy(stack.data() + split.first + i * PiecePool::kSize, pieces_[numbers[i]], PiecePool::kSize);
  copy(stack.data() + (record.stack_size - split.last), reader.take(split.last), split.last);
  record.stack = stack.data();
  return record;
}

}  // namespace ctprof
