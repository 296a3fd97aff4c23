// Finds the symbols of sorted addresses in one pass over symbols in any order.
//
// The symbols cannot influence the run time: of the symbols that begin between two addresses, only
// the nearest and the one that reaches farthest are stored. For the symbols of a file, several
// names of the nearest symbol are stored. For maps of just-in-time compilers, which reuse memory,
// the last name is used.
//
// See also: symbols.hpp (the rules that assign an address to a symbol).
//
// Threads: not thread-safe.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ctprof {

class SymbolSearch {
 public:
  static constexpr std::uint64_t kNoTag = std::numeric_limits<std::uint64_t>::max();
  // Limit on names of one symbol; further names are ignored.
  static constexpr std::size_t kMaxNames = 16;

  // The range of a symbol, and the tags that identify its names.
  struct Symbol {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    bool is_unsized = false;  // `end` is a limit, and the symbol may end before it
    std::uint8_t rank = 0;    // rank of its names; those with the highest are used
    std::uint64_t tag = kNoTag;
    std::vector<std::uint64_t> other_tags = {};

    bool reaches(std::uint64_t address) const { return tag != kNoTag && address < end; }
  };

  enum class NamePolicy : std::uint8_t { KeepAll, KeepLast };

  // REQUIRES: the addresses are in ascending order and outlive this object.
  SymbolSearch(std::span<const std::uint64_t> addresses, NamePolicy policy)
      : addresses_(addresses),
        policy_(policy),
        nearest_(addresses.size()),
        farthest_(addresses.size()) {}

  void add(std::uint64_t start, std::uint64_t size, std::uint64_t tag, std::uint8_t rank = 0) {
    add({start, add_saturated(start, size), false, rank, tag});
  }
  // Adds a symbol without a size, which reaches up to the next one, but neither beyond `limit` nor
  // kUnsizedReach.
  void add_unsized(std::uint64_t start, std::uint64_t limit, std::uint64_t tag,
                   std::uint8_t rank = 0) {
    add({start, std::min(add_saturated(start, kUnsizedReach), limit), true, rank, tag});
  }

  // Returns the symbol of each address, or null. `accepts(symbol, address)` decides whether a
  // symbol without a size includes an address in its reach. The pointers are valid as long as this
  // object.
  template <class Accepts>
  std::vector<const Symbol*> find_symbols(Accepts accepts) const {
    std::vector<const Symbol*> found;
    const Symbol* nearest = nullptr;
    const Symbol* farthest = nullptr;
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      const std::uint64_t address = addresses_[i];
      if (nearest_[i].tag != kNoTag) nearest = &nearest_[i];
      if (!farthest || farthest_[i].end > farthest->end) farthest = &farthest_[i];
      const bool uses_nearest = nearest && nearest->reaches(address) &&
                                (!nearest->is_unsized || accepts(*nearest, address));
      const Symbol* symbol = uses_nearest ? nearest : farthest;
      found.push_back(symbol->reaches(address) ? symbol : nullptr);
    }
    return found;
  }

 private:
  static constexpr std::uint64_t kUnsizedReach = 64 << 10;

  static std::uint64_t add_saturated(std::uint64_t start, std::uint64_t size) {
    return start + std::min(size, UINT64_MAX - start);
  }

  void add(const Symbol& symbol) {
    const auto first = std::ranges::lower_bound(addresses_, symbol.start);
    if (first == addresses_.end()) return;
    const auto at = static_cast<std::size_t>(first - addresses_.begin());
    Symbol& nearest = nearest_[at];
    if (nearest.tag == kNoTag || symbol.start > nearest.start)
      nearest = symbol;
    else if (symbol.start == nearest.start)
      merge(nearest, symbol);
    if (!symbol.is_unsized && symbol.end > farthest_[at].end) farthest_[at] = symbol;
  }

  // Merges a symbol that begins at the same address as the nearest one.
  void merge(Symbol& nearest, const Symbol& symbol) const {
    if (policy_ == NamePolicy::KeepLast) return void(nearest = symbol);
    if (nearest.is_unsized == symbol.is_unsized) nearest.end = std::max(nearest.end, symbol.end);
    if (nearest.is_unsized && !symbol.is_unsized) nearest.end = symbol.end;
    nearest.is_unsized = nearest.is_unsized && symbol.is_unsized;
    if (symbol.rank > nearest.rank) {
      nearest.rank = symbol.rank;
      nearest.tag = symbol.tag;
      nearest.other_tags.clear();
    } else if (symbol.rank == nearest.rank && nearest.other_tags.size() + 1 < kMaxNames) {
      nearest.other_tags.push_back(symbol.tag);
    }
  }

  std::span<const std::uint64_t> addresses_;
  NamePolicy policy_;
  // [i]: the nearest, or the farthest-reaching, of the symbols that begin after address i - 1, up
  // to address i.
  std::vector<Symbol> nearest_, farthest_;
};

}  // namespace ctprof
