// What the files that a report is about may ask of it, in proportion to their text: steps of work,
// or bytes printed.
//
// Few bytes of a file can be repeated in many places of a report: a name in every row, an
// expression for every group. Real files come to some 15 bytes of output for each of their text,
// and stay below one step.

#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "core/compare/figures/run_facts.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class Allowance {
 public:
  // For the whole of one kind of work. Snapshots that come from no file may ask for anything.
  explicit Allowance(std::span<const Snapshot* const> sides) {
    for (const Snapshot* side : sides) allow(side->text_bytes);
  }
  explicit Allowance(std::span<const RunFacts> sides) {
    for (const RunFacts& side : sides) allow(side.text_bytes);
  }
  // Takes what is asked for; false, and then for good, when it is more than is left.
  bool spend(std::size_t amount) {
    left_ = amount > left_ ? 0 : left_ - amount;
    return left_ > 0;
  }
  bool is_spent() const { return left_ == 0; }
  std::size_t left() const { return left_; }

 private:
  void allow(std::size_t text_bytes) {
    const std::size_t more = text_bytes == 0 ? kAny : kPerByte * text_bytes;
    left_ = more > kAny - left_ ? kAny : left_ + more;
  }

  static constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kFree = 64 * 1024 * 1024;  // for files of any size
  static constexpr std::size_t kPerByte = 32;

  std::size_t left_ = kFree;
};

}  // namespace ctprof
