// Stores raw call stacks compactly until they are unwound.
//
// A thread mostly has the same few stacks. A stack of addresses or frames is stored once for
// records that differ only in time and weight, unless many others come between them. A record that
// only counts the sample before it is stored with that sample. A copy of a
// stack's top, some kilobytes, is rarely equal to another one, but most of its parts are. So copies
// are split at addresses that are multiples of a kilobyte, and each distinct piece is stored once.
// The contents of records are not checked here.
//
//   RecordArena arena(256 << 20);
//   if (!arena.add(record)) ++lost;
//   arena.for_each([](const ctprof_record& record, std::uint32_t stack) { ... },
//                  [](const ctprof_change& change) { ... });
//
// Threads: used by one thread at a time.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/capture/piece_pool.hpp"
#include "ctprof/abi.h"

namespace ctprof {

class RecordArena {
 public:
  // The maximum contents of an entry; `add` accepts no more.
  static constexpr std::size_t kMaxAddresses = 2048;
  static constexpr std::size_t kMaxStack = 256 * 1024;
  static constexpr std::size_t kMaxText = 4096;
  // The number of a stack that was not compared with others: it contains a copy.
  static constexpr std::uint32_t kUnique = UINT32_MAX;

  // `budget`: maximum bytes to allocate.
  explicit RecordArena(std::size_t budget) : budget_(budget) {}
  RecordArena(RecordArena&&) = default;
  RecordArena& operator=(RecordArena&&) = default;

  // Copies the argument and all that it points to; of registers, only those of a copied stack.
  // Returns false, without adding anything, if the budget is exhausted. REQUIRES: pointers and
  // sizes are valid and within the limits above.
  bool add(const ctprof_record& record);
  bool add(const ctprof_change& change);

  // Calls on_record(const ctprof_record&, std::uint32_t stack) and on_change(const ctprof_change&)
  // for each entry, in the order of their addition. Data that they point to is valid until the
  // callback returns. Records with the same `stack` differ only in time and weight, unless it is
  // kUnique; numbers are consecutive.
  template <class OnRecord, class OnChange>
  void for_each(OnRecord on_record, OnChange on_change) const {
    std::vector<std::uint8_t> stack;
    for (Cursor cursor = begin(); !is_end(cursor); next(cursor)) {
      if (is_change(cursor)) {
        on_change(change_at(cursor));
        continue;
      }
      on_record(record_at(cursor, stack), stack_at(cursor));
      if (const std::uint32_t count = count_stack_at(cursor); count != kUnique)
        on_record(count_at(cursor), count);
    }
  }

  std::size_t bytes() const;

 private:
  static constexpr std::size_t kBlockBytes = 256 * 1024;
  static constexpr std::size_t kStackSets = 1024;
  struct alignas(64) StackSet {
    std::array<std::uint32_t, 8> tags{};     // parts of hashes
    std::array<std::uint32_t, 8> numbers{};  // number plus one; 0: free
  };
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t used = 0;
  };
  struct Cursor {
    std::uint32_t block = 0;
    std::uint32_t offset = 0;
  };
  class Writer;

  // Returns memory for an entry, or null.
  std::byte* allocate(std::size_t bytes);
  Cursor begin() const { return {}; }
  bool is_end(const Cursor& cursor) const { return cursor.block == blocks_.size(); }
  void next(Cursor& cursor) const;
  const std::byte* entry(const Cursor& cursor) const {
    return blocks_[cursor.block].bytes.get() + cursor.offset;
  }
  bool is_change(const Cursor& cursor) const;
  // Gives the entry that was added last the number of its stack, and removes the stack from the
  // entry if another one is known to contain it.
  void share_stack(std::byte* entry, const ctprof_record& record);
  bool add_to_last(const ctprof_record& record);
  void note_count(std::byte* entry, const ctprof_record& record);
  std::uint32_t find_or_add_stack(std::byte* entry, std::span<const std::byte> stack);
  bool has_stack(std::uint32_t number, std::span<const std::byte> stack) const;
  ctprof_change change_at(const Cursor& cursor) const;
  std::uint32_t stack_at(const Cursor& cursor) const;
  // The number of the stack of a record that counts the entry's record; kUnique: there is none.
  std::uint32_t count_stack_at(const Cursor& cursor) const;
  ctprof_record count_at(const Cursor& cursor) const;
  ctprof_record record_at(const Cursor& cursor, std::vector<std::uint8_t>& stack) const;

  std::size_t budget_;
  std::vector<Block> blocks_;
  PiecePool pieces_;
  std::vector<Cursor> stacks_;  // by number: the entry that contains the stack
  // By number of a sample's stack: number plus one of the stack of the records that count it; 0:
  // unknown.
  std::vector<std::uint32_t> counts_;
  std::byte* last_entry_ = nullptr;  // of a record; null if a later record cannot count it
  // Stacks that were found recently, in sets by hash. There is no complete index, because looking
  // up a stack that is not stored would take longer than storing it.
  std::vector<StackSet> recent_stacks_;
};

}  // namespace ctprof
