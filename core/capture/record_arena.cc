// An entry of a change is a head, a copy of the struct, and the data that its pointers refer to,
// each aligned to eight bytes. An entry of a record is a head, its time and weight, and its stack:
// the other fields that the record uses, and the data. If an earlier entry contains the same stack,
// it is omitted. A copy of a stack consists of the bytes before the first boundary, the indexes of
// the pieces, and the bytes after the last boundary.

#include "core/capture/record_arena.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/seeded_hash.hpp"

namespace ctprof {
namespace {

struct Head {
  std::uint32_t bytes;  // size of the whole entry
  std::uint32_t is_change;
};

// The part of a record in which records with equal stacks differ.
struct Occurrence {
  std::uint64_t at_ns;
  std::uint64_t weight;
  std::uint64_t stack;  // its number
};
constexpr std::size_t kStackOffset = sizeof(Head) + sizeof(Occurrence);

constexpr std::size_t round_up_to_8(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

// The fields of a record that identify its stack or the bucket of its histogram. Without padding,
// because they are compared as bytes.
struct StackFields {
  explicit StackFields(const ctprof_record& record)
      : offer(record.offer),
        flags(record.flags),
        user_kind(record.user_kind),
        kernel_count(record.kernel_count),
        user_count(record.user_count),
        element(record.element),
        tgid(record.tgid),
        tid(record.tid),
        start_time_clock_ticks(record.start_time_clock_ticks) {}

  std::uint32_t offer, flags, user_kind, kernel_count, user_count, element;
  std::uint64_t tgid, tid, start_time_clock_ticks;
};

// Follows StackFields if the record has a copy.
struct CopyFields {
  std::uint64_t ip, sp, bp, lr, stack_size;
};

bool has_copy(const ctprof_record& record) { return record.user_kind == CTPROF_USER_COPY; }

__extension__ using Product = unsigned __int128;

std::uint64_t multiply_and_fold(std::uint64_t a, std::uint64_t b) {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Processes four words per step, so that the multiplications overlap. REQUIRES: the size is a
// multiple of that of a word.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  static const std::uint64_t seed = SeededHash()(std::uint64_t{1}) | 1;
  const std::uint64_t factor = seed ^ 0x9e3779b97f4a7c14;
  std::uint64_t a = seed, b = seed + 2, c = seed + 4, d = seed ^ bytes.size();
  std::array<std::uint64_t, 4> words;
  for (; bytes.size() >= sizeof words; bytes = bytes.subspan(sizeof words)) {
    std::memcpy(words.data(), bytes.data(), sizeof words);
    a = multiply_and_fold(a ^ words[0], factor);
    b = multiply_and_fold(b ^ words[1], factor);
    c = multiply_and_fold(c ^ words[2], factor);
    d = multiply_and_fold(d ^ words[3], factor);
  }
  words = {};
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  a = multiply_and_fold(a ^ words[0], factor) ^ multiply_and_fold(b ^ words[1], seed);
  c = multiply_and_fold(c ^ words[2], factor) ^ multiply_and_fold(d ^ words[3], seed);
  return SeededHash()(multiply_and_fold(a, factor) ^ c);
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

ctprof_record make_record(const StackFields& fields, const Occurrence& occurrence) {
  ctprof_record record{};
  record.size = sizeof record;
  record.offer = fields.offer;
  record.flags = fields.flags;
  record.user_kind = fields.user_kind;
  record.kernel_count = fields.kernel_count;
  record.user_count = fields.user_count;
  record.tgid = fields.tgid;
  record.tid = fields.tid;
  record.element = fields.element;
  record.start_time_clock_ticks = fields.start_time_clock_ticks;
  record.weight = occurrence.weight;
  record.at_ns = occurrence.at_ns;
  return record;
}

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

// Writes the data after the head of an entry.
class RecordArena::Writer {
 public:
  explicit Writer(std::byte* at) : at_(at) {}

  void put(const void* data, std::size_t bytes) {
    copy(at_, data, bytes);
    at_ += round_up_to_8(bytes);
  }
  void put_stack(const ctprof_record& record, PiecePool& pool) {
    const CopyFields fields{record.ip, record.sp, record.bp, record.lr, record.stack_size};
    const StackSplit split = split_of(record);
    const auto* memory = reinterpret_cast<const std::byte*>(record.stack);
    put(&fields, sizeof fields);
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

std::size_t RecordArena::bytes() const {
  return blocks_.size() * kBlockBytes + pieces_.bytes() + stacks_.capacity() * sizeof(Cursor) +
         recent_stacks_.size() * sizeof(StackSet);
}

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
  const std::size_t words = std::size_t{record.kernel_count} + record.user_count;
  const std::size_t copy_bytes =
      has_copy(record) ? sizeof(CopyFields) + split_of(record).bytes_in_entry() : 0;
  const std::size_t bytes =
      kStackOffset + sizeof(StackFields) + words * sizeof(std::uint64_t) + copy_bytes;
  std::byte* entry = allocate(bytes);
  if (!entry) return false;
  const Head head{static_cast<std::uint32_t>(bytes), 0};
  const Occurrence occurrence{record.at_ns, record.weight, kUnique};
  const StackFields fields(record);
  Writer writer(entry);
  writer.put(&head, sizeof head);
  writer.put(&occurrence, sizeof occurrence);
  writer.put(&fields, sizeof fields);
  writer.put(record.kernel, record.kernel_count * sizeof(std::uint64_t));
  writer.put(record.user, record.user_count * sizeof(std::uint64_t));
  if (has_copy(record))
    writer.put_stack(record, pieces_);
  else
    share_stack(entry, record);
  return true;
}

bool RecordArena::has_stack(std::uint32_t number, std::span<const std::byte> stack) const {
  const std::byte* other = entry(stacks_[number]);
  Head head;
  std::memcpy(&head, other, sizeof head);
  return head.bytes == kStackOffset + stack.size() &&
         std::memcmp(other + kStackOffset, stack.data(), stack.size()) == 0;
}

// Returns the number of the stack, a new one if no recent entry has it.
std::uint32_t RecordArena::find_or_add_stack(std::byte* entry, std::span<const std::byte> stack) {
  if (recent_stacks_.empty()) recent_stacks_.resize(kStackSets);
  const std::uint64_t hash = hash_of(stack);
  const std::uint32_t tag = tag_of(hash);
  StackSet& set = recent_stacks_[hash % kStackSets];
  for (std::size_t i = 0; i < set.tags.size(); ++i)
    if (set.tags[i] == tag && set.numbers[i] != 0 && has_stack(set.numbers[i] - 1, stack))
      return set.numbers[i] - 1;
  const auto number = static_cast<std::uint32_t>(stacks_.size());
  auto place = static_cast<std::size_t>(std::ranges::find(set.numbers, 0u) - set.numbers.begin());
  if (place == set.numbers.size()) place = number % set.numbers.size();
  set.tags[place] = tag;
  set.numbers[place] = number + 1;
  stacks_.push_back({static_cast<std::uint32_t>(blocks_.size() - 1),
                     static_cast<std::uint32_t>(entry - blocks_.back().bytes.get())});
  return number;
}

void RecordArena::share_stack(std::byte* entry, const ctprof_record& record) {
  Head head;
  std::memcpy(&head, entry, sizeof head);
  const std::span stack(entry + kStackOffset, head.bytes - kStackOffset);
  const std::size_t known = stacks_.size();
  const std::uint32_t number = find_or_add_stack(entry, stack);
  if (number < known) {
    blocks_.back().used -= stack.size();
    head.bytes = kStackOffset;
  }
  const Occurrence occurrence{record.at_ns, record.weight, number};
  std::memcpy(entry, &head, sizeof head);
  std::memcpy(entry + sizeof head, &occurrence, sizeof occurrence);
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

std::uint32_t RecordArena::stack_at(const Cursor& cursor) const {
  Occurrence occurrence;
  std::memcpy(&occurrence, entry(cursor) + sizeof(Head), sizeof occurrence);
  return static_cast<std::uint32_t>(occurrence.stack);
}

ctprof_record RecordArena::record_at(const Cursor& cursor, std::vector<std::uint8_t>& stack) const {
  Head head;
  Occurrence occurrence;
  std::memcpy(&head, entry(cursor), sizeof head);
  std::memcpy(&occurrence, entry(cursor) + sizeof head, sizeof occurrence);
  const bool is_shared = head.bytes == kStackOffset;
  Reader reader(entry(is_shared ? stacks_[occurrence.stack] : cursor) + kStackOffset);
  StackFields fields{{}};
  std::memcpy(static_cast<void*>(&fields), reader.take(sizeof fields), sizeof fields);
  ctprof_record record = make_record(fields, occurrence);
  record.kernel = reader.take_addresses(record.kernel_count);
  record.user = reader.take_addresses(record.user_count);
  if (!has_copy(record)) return record;
  CopyFields copied;
  std::memcpy(&copied, reader.take(sizeof copied), sizeof copied);
  record.ip = copied.ip;
  record.sp = copied.sp;
  record.bp = copied.bp;
  record.lr = copied.lr;
  record.stack_size = copied.stack_size;
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
