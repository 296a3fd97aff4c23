// Finds the symbols of sorted addresses in one pass over symbols in any order.
//
// It takes time that the symbols cannot choose: of those that begin between two addresses, only the
// nearest and the one that reaches farthest are kept. Several names of the nearest are kept where
// the list is of a file; where it is of a just-in-time compiler, the last one counts, since that
// compiler uses memory again.
//
// See also: symbols.hpp (the rules by which an address belongs to a symbol).
//
// Threads: one at a time.

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
  // Names of one symbol; further ones are not considered.
  static constexpr std::size_t kMostNames = 16;

  // Where a symbol begins and ends, and what identifies its names.
  struct Symbol {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    bool is_unsized = false;  // the end is a limit, and the symbol may end before it
    std::uint8_t rank = 0;    // of its names: others at the same place have lower ranks
    std::uint64_t tag = kNoTag;
    std::vector<std::uint64_t> other_tags = {};

    bool reaches(std::uint64_t address) const { return tag != kNoTag && address < end; }
  };

  enum class Names : std::uint8_t { All, Last };

  // REQUIRES: the addresses are in ascending order and live as long as this.
  SymbolSearch(std::span<const std::uint64_t> addresses, Names names)
      : addresses_(addresses),
        names_(names),
        nearest_(addresses.size()),
        farthest_(addresses.size()) {}

  void add(std::uint64_t start, std::uint64_t size, std::uint64_t tag, std::uint8_t rank = 0) {
    add({start, end_of(start, size), false, rank, tag});
  }
  // One without a size, which reaches up to the next, but neither beyond `limit` nor kUnsizedReach.
  void add_unsized(std::uint64_t start, std::uint64_t limit, std::uint64_t tag,
                   std::uint8_t rank = 0) {
    add({start, std::min(end_of(start, kUnsizedReach), limit), true, rank, tag});
  }

  // The symbol of each address, or null. `accepts(symbol, address)` decides whether a symbol
  // without a size includes an address that it reaches. They live as long as this.
  template <class Accepts>
  std::vector<const Symbol*> symbols(Accepts accepts) const {
    std::vector<const Symbol*> found;
    const Symbol* near = nullptr;
    const Symbol* far = nullptr;
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      const std::uint64_t address = addresses_[i];
      if (nearest_[i].tag != kNoTag) near = &nearest_[i];
      if (!far || farthest_[i].end > far->end) far = &farthest_[i];
      const bool is_near =
          near && near->reaches(address) && (!near->is_unsized || accepts(*near, address));
      const Symbol* symbol = is_near ? near : far;
      found.push_back(symbol->reaches(address) ? symbol : nullptr);
    }
    return found;
  }

 private:
  static constexpr std::uint64_t kUnsizedReach = 64 << 10;

  static std::uint64_t end_of(std::uint64_t start, std::uint64_t size) {
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

  // A symbol that begins where the nearest does.
  void merge(Symbol& nearest, const Symbol& symbol) const {
    if (names_ == Names::Last) return void(nearest = symbol);
    if (nearest.is_unsized == symbol.is_unsized) nearest.end = std::max(nearest.end, symbol.end);
    if (nearest.is_unsized && !symbol.is_unsized) nearest.end = symbol.end;
    nearest.is_unsized = nearest.is_unsized && symbol.is_unsized;
    if (symbol.rank > nearest.rank) {
      nearest.rank = symbol.rank;
      nearest.tag = symbol.tag;
      nearest.other_tags.clear();
    } else if (symbol.rank == nearest.rank && nearest.other_tags.size() + 1 < kMostNames) {
      nearest.other_tags.push_back(symbol.tag);
    }
  }

  std::span<const std::uint64_t> addresses_;
  Names names_;
  std::vector<Symbol> nearest_, farthest_;  // of those that begin at [i] or before, after [i - 1]
};

}  // namespace ctprof
