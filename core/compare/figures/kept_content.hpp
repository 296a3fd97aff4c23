// What rules are shown of a snapshot's texts, sets and maps: copies, which live as long as what the
// rules make of them.
//
// A rule's state may point to what it was shown (abi.h, ctprof_rows), and outlives the snapshot. So
// each text and set is copied when it is first asked for. The keys of a map are copied so; of its
// entries, which no built-in rule points to, only where a plugin's rule asks.
//
// Threads: one at a time.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "ctprof/abi.h"

namespace ctprof {

class KeptContent {
 public:
  KeptContent() = default;
  KeptContent(const KeptContent&) = delete;
  KeptContent& operator=(const KeptContent&) = delete;

  // Of this snapshot from now on.
  void show(const Snapshot& snapshot);
  // Forgets the snapshot; what was copied stays.
  void let_go();
  // Keeps what the other keeps, too.
  void join(const KeptContent& other);

  // Hands rows the ways to ask. REQUIRES: this outlives the states made of them.
  void fill(ctprof_rows& rows, bool for_plugin);
  std::string_view copy(std::string_view text) { return arena().copy(text); }
  std::string_view text(Id id);

 private:
  // What rows ask through: whose, and for whom.
  struct View {
    KeptContent* kept;
    bool for_plugin;
  };
  static ctprof_text text_of(const void* core, std::uint32_t id);
  static const std::uint64_t* bits_of(const void* core, std::uint32_t id, std::size_t* words);
  static const ctprof_entry* map_of(const void* core, std::uint32_t id, std::size_t* entries);
  Arena& arena() { return *arenas_.front(); }
  const char* kept_key(ctprof_text key);

  // A key that was copied, by where it stands in the snapshot's pool.
  struct Key {
    const char* from = nullptr;
    const char* copy = nullptr;
  };
  static constexpr std::size_t kKeys = 1024;

  std::vector<std::shared_ptr<Arena>> arenas_{std::make_shared<Arena>()};  // own first
  View built_in_{this, false}, plugins_{this, true};
  const Pools* pools_ = nullptr;
  std::vector<ctprof_text> texts_;  // by id; null: not asked for
  std::unordered_map<Id, std::span<const std::uint64_t>> sets_;
  std::unordered_map<const char*, const char*> keys_;
  std::vector<Key> near_keys_;  // maps repeat their keys, and this is nearer at hand
  std::vector<ctprof_entry> entries_;
};

}  // namespace ctprof
