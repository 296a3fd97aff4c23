// Pools hold what does not fit into a scalar cell (texts, CPU sets, maps, arrays): each content is
// stored once and named by an id.
//
// A column of texts is a column of ids. Equal contents get equal ids; only maps, which are hardly
// ever equal, are simply appended. The memory behind an id never moves while the pool lives.
//
// Threads: intern() and append() lock. Looking up an id does not, and REQUIRES that no other thread
// is adding; TextPool::resolve() is the look-up for when one may be.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/brief_mutex.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/abi.h"

namespace ctprof {

using Id = std::uint32_t;

// Memory that only grows, and is freed all at once.
class Arena {
 public:
  // Returns `size` bytes, aligned for anything that a pool holds.
  void* take(std::size_t size);
  std::string_view copy(std::string_view text);
  // Bytes handed out.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Deleter {
    std::size_t alignment;
    void operator()(std::byte* block) const {
      ::operator delete (block, std::align_val_t{alignment});
    }
  };
  void grow(std::size_t least);

  std::vector<std::unique_ptr<std::byte[], Deleter>> blocks_;
  std::size_t left_ = 0;
  std::byte* next_ = nullptr;
  std::size_t bytes_ = 0;
};

class TextPool {
 public:
  Id intern(std::string_view text) { return intern_kept(text).id; }
  struct Kept {
    Id id;
    std::string_view text;  // the pool's
  };
  Kept intern_kept(std::string_view text);
  std::string_view operator[](Id id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const { return arena_.bytes(); }
  // Looks up many ids at once while other threads may add. An unknown id gives an empty text.
  void resolve(std::span<const Id> ids, std::span<ctprof_text> out) const;

 private:
  // An open-addressing hash table: with tens of thousands of names, following lists between buckets
  // would dominate the cost.
  struct Bucket {
    std::uint32_t hash = 0;
    Id next_id = 0;  // the text's id and one; 0: free
  };
  Bucket& find(std::string_view text, std::uint32_t hash);
  void grow();

  mutable BriefMutex mutex_;
  Arena arena_;
  std::deque<std::string_view> texts_;
  std::vector<Bucket> buckets_ =
      std::vector<Bucket>(256);  // a power of two of them, at most half taken
};

// Bitsets (words of 64 bits, no trailing zero word) and arrays.
class WordsPool {
 public:
  Id intern(std::span<const std::uint64_t> words);
  std::span<const std::uint64_t> operator[](Id id) const { return items_[id]; }
  std::size_t bytes() const { return arena_.bytes(); }

 private:
  BriefMutex mutex_;
  Arena arena_;
  std::deque<std::span<const std::uint64_t>> items_;
  std::unordered_map<std::string_view, Id, SeededHash> ids_;
};

// Whether two maps of one pool are the same.
bool are_equal(std::span<const ctprof_entry> a, std::span<const ctprof_entry> b);

// Maps of text to u64, sorted by key. Most that are equal are kept once: idle cgroups have the same
// counts, row after row.
class MapPool {
 public:
  // Copies and sorts the entries; of entries with the same key the last one counts. Keys are
  // interned in `texts`.
  Id append(std::span<const ctprof_entry> entries, TextPool& texts);
  // The same for entries that are ready. REQUIRES: keys are in the text pool, ascending and
  // distinct.
  Id append_pooled(std::span<const ctprof_entry> entries);
  std::span<const ctprof_entry> operator[](Id id) const { return items_[id]; }
  std::size_t bytes() const { return arena_.bytes(); }

 private:
  static constexpr std::size_t kRecent = 4096;
  static constexpr Id kNone = static_cast<Id>(-1);

  BriefMutex mutex_;
  Arena arena_;
  std::deque<std::span<const ctprof_entry>> items_;
  std::vector<Id> recent_;  // by hash; a map that others took the place of is kept again
};

// What they weigh together, the largest number where that is too large.
std::uint64_t total_of(std::span<const ctprof_stack> stacks);

// Weighted sets of stacks, and the stacks themselves.
class StackPool {
 public:
  // Copies and sorts. A stack that is there twice gets the sum of its weights, the largest number
  // where that is too large. REQUIRES: they are nodes of the table.
  Id append(std::span<const ctprof_stack> stacks);
  // Ascending by stack, each once.
  std::span<const ctprof_stack> operator[](Id id) const { return items_[id]; }
  std::size_t bytes() const { return arena_.bytes(); }

  // Adds the stacks of a set, of this pool or another, to `stacks`. The other's table is taken in
  // when the first of its sets is; a stack that this one has no room for becomes what there is of
  // it from the root on, and in the end the top. REQUIRES: no other thread uses this pool.
  void gather(const StackPool& from, Id id, std::vector<ctprof_stack>& stacks);

  StackTable table;

 private:
  std::span<const std::uint32_t> nodes_of(const StackPool& other);

  BriefMutex mutex_;
  Arena arena_;
  std::deque<std::span<const ctprof_stack>> items_;
  const std::uint64_t number_ = next_number();  // no other pool has it, ever
  std::uint64_t met_ = 0;                       // whose table was taken in last
  std::vector<std::uint32_t> nodes_;            // what its nodes are here

  static std::uint64_t next_number();
};

struct Pools {
  TextPool texts;
  WordsPool words;
  MapPool maps;
  StackPool stacks;
  std::size_t bytes() const {
    return texts.bytes() + words.bytes() + maps.bytes() + stacks.bytes();
  }
};

// One worker's cache in front of a TextPool: names repeat from row to row, and a repeated name
// needs no lock.
class TextCache {
 public:
  explicit TextCache(TextPool& pool) : pool_(&pool) {}
  Id intern(std::string_view text);

 private:
  struct Slot {
    std::string_view text;
    Id id = 0;
    bool used = false;
  };
  static constexpr std::size_t kSlots = 1024;

  TextPool* pool_;
  std::vector<Slot> slots_;  // none before the first text: most sources give none
};

}  // namespace ctprof
