// Lives: which threads two snapshots of one boot have in common, told by tid and start time.
//
// A thread stays if the group has it on both sides. Else it turns up, or is gone: started or ended
// in between, or come from another group, or left for one. Of a thread whose start was not read
// nothing is known.
//
// What is here:   which threads stay, and how many.
// What is not:    what they have to do with a difference (origin.hpp).

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/compare/grouping/grouping.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

enum class Life : std::uint8_t { Unknown, Stays, Turns };

// How many threads stay, turn up and are gone.
struct Turnover {
  std::uint64_t alive = 0, fresh = 0, gone = 0;
};

class Lives {
 public:
  // With anything but two snapshots of one boot, nothing is known.
  Lives(std::span<const Snapshot* const> sides, const Grouping& grouping);

  // Whether the sides are of one boot.
  bool known() const { return known_; }
  // REQUIRES: known.
  Life of(std::size_t side, std::uint32_t row) const { return lives_[side][row]; }
  // None where a thread's start was not read.
  std::optional<Turnover> in_group(std::uint32_t group) const { return told(groups_, group); }
  // Of all threads that are in a group; a thread that changed its group stays.
  std::optional<Turnover> in_all() const { return told({&all_, 1}, 0); }

 private:
  struct Counts {
    Turnover turnover;
    std::uint64_t unknown = 0;
  };
  std::optional<Turnover> told(std::span<const Counts> counts, std::uint32_t at) const;
  void pair(std::span<const Snapshot* const> sides, const Grouping& grouping);
  static void count(Counts& counts, std::size_t side, Life life);

  bool known_ = false;
  std::array<std::vector<Life>, 2> lives_;
  std::vector<Counts> groups_;
  Counts all_;
};

// Both files say that they are of the same boot.
bool of_one_boot(const Meta& a, const Meta& b);

}  // namespace ctprof
