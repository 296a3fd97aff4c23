// Pools: contents that do not fit a scalar cell (texts, CPU sets, maps, arrays), stored once and
// named by an id.
//
// A column of strings is a column of ids. Equal contents get equal ids, but for maps, which are
// hardly ever equal and are simply appended. What an id stands for never moves while the pool
// lives.
//
// Threads: `intern` and `append` lock. Looking an id up does not, and REQUIRES that nobody adds
// meanwhile; `TextPool::resolve` is the look-up for that case.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "ctprof/abi.h"

namespace ctprof {

using Id = std::uint32_t;

// Memory that only grows, and goes all at once.
class Arena {
 public:
  // Room for `size` bytes, aligned for anything that a pool holds.
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
  Id intern(std::string_view text);
  std::string_view operator[](Id id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const { return arena_.bytes(); }
  // Looks up many at once while others may add.
  void resolve(std::span<const Id> ids, std::span<ctprof_text> out) const;

 private:
  // A hash table in one piece: with names by the ten thousand, following a list from bucket to
  // bucket is what costs.
  struct Bucket {
    std::uint32_t hash = 0;
    Id next_id = 0;  // the text's id and one; 0: free
  };
  Bucket& find(std::string_view text, std::uint32_t hash);
  void grow();

  mutable std::mutex mutex_;
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
  std::mutex mutex_;
  Arena arena_;
  std::deque<std::span<const std::uint64_t>> items_;
  std::unordered_map<std::string_view, Id, SeededHash> ids_;
};

// Maps of text to u64, sorted by key.
class MapPool {
 public:
  // Copies the entries and sorts them; of equal keys the last stands. `texts` holds the keys.
  Id append(std::span<const ctprof_entry> entries, TextPool& texts);
  // The same for entries that need no more work. REQUIRES: the keys live in the texts' pool,
  // ascending and no two equal.
  Id append_pooled(std::span<const ctprof_entry> entries);
  std::span<const ctprof_entry> operator[](Id id) const { return items_[id]; }
  std::size_t bytes() const { return arena_.bytes(); }

 private:
  std::mutex mutex_;
  Arena arena_;
  std::deque<std::span<const ctprof_entry>> items_;
};

struct Pools {
  TextPool texts;
  WordsPool words;
  MapPool maps;
  std::size_t bytes() const { return texts.bytes() + words.bytes() + maps.bytes(); }
};

// One worker's own way into a TextPool: names repeat from row to row, and what it has seen before
// costs no lock.
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
  TextPool* pool_;
  std::vector<Slot> slots_ = std::vector<Slot>(1024);
};

}  // namespace ctprof
