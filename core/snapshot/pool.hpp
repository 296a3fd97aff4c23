// Pools store contents that do not fit into a scalar cell (texts, CPU sets, maps, arrays). Each
// content is stored once and identified by an id.
//
// A column of texts is a column of ids. Equal contents have equal ids, except that equal maps can
// have different ones. The memory of an id is not moved while the pool exists.
//
// Threads: intern() and append() lock. Looking up an id does not lock, and REQUIRES that no other
// thread is adding. TextPool::resolve() looks up ids while other threads may add.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/base/spin_mutex.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/abi.h"

namespace ctprof {

using Id = std::uint32_t;

// A memory allocator that frees all its memory when it is destroyed.
class Arena {
 public:
  // Allocates `size` bytes, aligned for everything that a pool stores.
  void* allocate(std::size_t size);
  std::string_view copy(std::string_view text);
  // Returns the number of allocated bytes.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Deleter {
    std::size_t alignment;
    void operator()(std::byte* block) const {
      ::operator delete (block, std::align_val_t{alignment});
    }
  };
  void grow(std::size_t min_size);

  std::vector<std::unique_ptr<std::byte[], Deleter>> blocks_;
  std::size_t remaining_ = 0;
  std::byte* next_ = nullptr;
  std::size_t bytes_ = 0;
};

// A pool of texts.
class TextPool {
 public:
  Id intern(std::string_view text) { return intern_text(text).id; }
  // A text in the pool and its id.
  struct PooledText {
    Id id;
    std::string_view text;  // stored in the pool
  };
  PooledText intern_text(std::string_view text);
  std::string_view operator[](Id id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const { return arena_.bytes(); }
  // Looks up many ids in one call while other threads may add. An unknown id results in an empty
  // text.
  void resolve(std::span<const Id> ids, std::span<ctprof_text> out) const;

 private:
  // An open-addressing hash table. With tens of thousands of names, following linked lists would
  // dominate the cost.
  struct Bucket {
    std::uint32_t hash = 0;
    Id next_id = 0;  // the text's id plus one; 0: free
  };
  Bucket& find(std::string_view text, std::uint32_t hash);
  void grow();

  mutable SpinMutex mutex_;
  Arena arena_;
  std::deque<std::string_view> texts_;
  // Their number is a power of two; at most half are used.
  std::vector<Bucket> buckets_ = std::vector<Bucket>(256);
};

// A pool of bitsets (words of 64 bits, no trailing zero word) and arrays.
class WordsPool {
 public:
  Id intern(std::span<const std::uint64_t> words);
  std::span<const std::uint64_t> operator[](Id id) const { return items_[id]; }
  std::size_t bytes() const { return arena_.bytes(); }

 private:
  SpinMutex mutex_;
  Arena arena_;
  std::deque<std::span<const std::uint64_t>> items_;
  std::unordered_map<std::string_view, Id, SeededHash> ids_;
};

// Returns whether two maps of one pool are equal.
bool are_equal(std::span<const ctprof_entry> a, std::span<const ctprof_entry> b);

// Returns the entries sorted by key. If a key occurs several times, the last entry is used.
std::vector<ctprof_entry> sort_by_key(std::span<const ctprof_entry> entries);

// A pool of maps from text to u64, sorted by key. Most equal maps are stored once, because many
// idle cgroups have the same counts.
class MapPool {
 public:
  // Copies the entries in the order of sort_by_key(). Interns keys in `texts`.
  Id append(std::span<const ctprof_entry> entries, TextPool& texts);
  // Like append(), for prepared entries. REQUIRES: keys are in the text pool, ascending and
  // distinct.
  Id append_pooled(std::span<const ctprof_entry> entries);
  std::span<const ctprof_entry> operator[](Id id) const { return items_[id]; }
  std::size_t bytes() const { return arena_.bytes(); }

 private:
  static constexpr std::size_t kRecentSlots = 4096;
  static constexpr Id kNone = static_cast<Id>(-1);

  SpinMutex mutex_;
  Arena arena_;
  std::deque<std::span<const ctprof_entry>> items_;
  std::vector<Id> recent_ids_;  // recent ids, by hash; a map whose slot was reused is stored again
};

// Returns the sum of the weights; UINT64_MAX if it is larger.
std::uint64_t total_weight(std::span<const ctprof_stack> stacks);

// A pool of weighted sets of stacks, and the table of the stacks themselves.
class StackPool {
 public:
  // Copies and sorts the stacks. Adds the weights of a stack that occurs several times, up to
  // UINT64_MAX. REQUIRES: the stacks are nodes of the table.
  Id append(std::span<const ctprof_stack> stacks);
  // Returns the set, ascending by stack, without duplicates.
  std::span<const ctprof_stack> operator[](Id id) const { return items_[id]; }
  std::size_t bytes() const { return arena_.bytes(); }

  // Adds the stacks of a set, of this pool or another, to `stacks`. Copies the other pool's table
  // when its first set is used. If this table is full, a stack is replaced by its longest part from
  // the root that is in the table, which may be only the root node. REQUIRES: no other thread uses
  // this pool.
  void add_set_to(const StackPool& from, Id id, std::vector<ctprof_stack>& stacks);

  StackTable table;

 private:
  std::span<const std::uint32_t> map_nodes(const StackPool& other);

  SpinMutex mutex_;
  Arena arena_;
  std::deque<std::span<const ctprof_stack>> items_;
  const std::uint64_t unique_number_ = next_number();  // unique in this process
  std::uint64_t last_absorbed_ = 0;      // number of the pool whose table was copied last
  std::vector<std::uint32_t> node_map_;  // numbers of its nodes in this table

  static std::uint64_t next_number();
};

// The pools of one snapshot.
struct Pools {
  TextPool texts;
  WordsPool words;
  MapPool maps;
  StackPool stacks;
  std::size_t bytes() const {
    return texts.bytes() + words.bytes() + maps.bytes() + stacks.bytes();
  }
};

// A cache of one worker for a TextPool. Consecutive rows often have the same name, and a cached
// name needs no lock.
class TextCache {
 public:
  explicit TextCache(TextPool& pool) : pool_(&pool) {}
  Id intern(std::string_view text);

 private:
  struct Slot {
    std::string_view text;
    Id id = 0;
    bool is_used = false;
  };
  static constexpr std::size_t kSlots = 1024;

  TextPool* pool_;
  std::vector<Slot> slots_;  // allocated at the first text: most sources have no texts
};

}  // namespace ctprof
