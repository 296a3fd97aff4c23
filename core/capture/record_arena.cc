// An entry of a change is a head, a copy of the struct, and the data that its pointers refer to,
// each aligned to eight bytes. An entry of a record is a head, its time and weight, and its stack:
// the other fields that the record uses, and the data. If an earlier entry contains the same stack,
// it is omitted. A second record that counts the first one, with the same time, has no entry: the
// first entry contains the number of its stack. A copy of a stack consists of the bytes before the
// first boundary, the indexes of the pieces, and the bytes after the last boundary.

#include "core/capture/record_arena.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "core/capture/memory_hash.hpp"

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
  std::uint32_t stack;       // its number
  std::uint32_t counted_by;  // number plus one of the stack of a record that follows, with the same
                             // time and the weight 1; 0: there is none
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

// Returns whether a record may count a sample: it has no stack, and the weight 1.
bool is_count(const ctprof_record& record) {
  return record.weight == 1 && record.user_kind == CTPROF_USER_NONE && record.kernel_count == 0;
}

bool has_copy(const ctprof_record& record) { return record.user_kind == CTPROF_USER_COPY; }

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
         counts_.capacity() * sizeof(std::uint32_t) + recent_stacks_.size() * sizeof(StackSet);
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
  if (add_to_last(record)) return true;
  const std::size_t words = std::size_t{record.kernel_count} + record.user_count;
  const std::size_t copy_bytes =
      has_copy(record) ? sizeof(CopyFields) + split_of(record).bytes_in_entry() : 0;
  const std::size_t bytes =
      kStackOffset + sizeof(StackFields) + words * sizeof(std::uint64_t) + copy_bytes;
  std::byte* entry = allocate(bytes);
  if (!entry) return false;
  const Head head{static_cast<std::uint32_t>(bytes), 0};
  const Occurrence occurrence{record.at_ns, record.weight, kUnique, 0};
  const StackFields fields(record);
  Writer writer(entry);
  writer.put(&head, sizeof head);
  writer.put(&occurrence, sizeof occurrence);
  writer.put(&fields, sizeof fields);
  writer.put(record.kernel, record.kernel_count * sizeof(std::uint64_t));
  writer.put(record.user, record.user_count * sizeof(std::uint64_t));
  if (has_copy(record)) {
    writer.put_stack(record, pieces_);
    last_entry_ = nullptr;
  } else {
    share_stack(entry, record);
    note_count(entry, record);
  }
  return true;
}

// Adds the record to the last entry, if that is the sample that it counts, and the same thread's
// sample with that stack was counted before.
bool RecordArena::add_to_last(const ctprof_record& record) {
  if (!last_entry_ || !is_count(record)) return false;
  Occurrence last;
  std::memcpy(&last, last_entry_ + sizeof(Head), sizeof last);
  if (last.at_ns != record.at_ns || last.stack >= counts_.size()) return false;
  const StackFields fields(record);
  last.counted_by = counts_[last.stack];
  if (last.counted_by == 0 || !has_stack(last.counted_by - 1, std::as_bytes(std::span(&fields, 1))))
    return false;
  std::memcpy(last_entry_ + sizeof(Head), &last, sizeof last);
  last_entry_ = nullptr;
  return true;
}

// Stores how a stack is counted, if this entry counts the last one.
void RecordArena::note_count(std::byte* entry, const ctprof_record& record) {
  const std::byte* sample = std::exchange(last_entry_, entry);
  if (!sample || !is_count(record)) return;
  Occurrence counted, count;
  std::memcpy(&counted, sample + sizeof(Head), sizeof counted);
  std::memcpy(&count, entry + sizeof(Head), sizeof count);
  if (counted.at_ns != count.at_ns) return;
  if (counts_.size() <= counted.stack) counts_.resize(counted.stack + 1);
  counts_[counted.stack] = count.stack + 1;
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
  const Occurrence occurrence{record.at_ns, record.weight, number, 0};
  std::memcpy(entry, &head, sizeof head);
  std::memcpy(entry + sizeof head, &occurrence, sizeof occurrence);
}

bool RecordArena::add(const ctprof_change& change) {
  const std::size_t bytes = sizeof(Head) + sizeof change + round_up_to_8(change.path.size);
  std::byte* entry = allocate(bytes);
  if (!entry) return false;
  last_entry_ = nullptr;
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
  return occurrence.stack;
}

std::uint32_t RecordArena::count_stack_at(const Cursor& cursor) const {
  Occurrence occurrence;
  std::memcpy(&occurrence, entry(cursor) + sizeof(Head), sizeof occurrence);
  return occurrence.counted_by - 1;
}

// REQUIRES: count_stack_at() returns a number.
ctprof_record RecordArena::count_at(const Cursor& cursor) const {
  Occurrence occurrence;
  std::memcpy(&occurrence, entry(cursor) + sizeof(Head), sizeof occurrence);
  occurrence.weight = 1;
  StackFields fields{{}};
  std::memcpy(static_cast<void*>(&fields), entry(stacks_[occurrence.counted_by - 1]) + kStackOffset,
              sizeof fields);
  return make_record(fields, occurrence);
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
