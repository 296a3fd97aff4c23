// Labellings: the ways in which runs could have been given to two sides.
//
// If the sides do not differ, it was chance alone which run came to which side. So a figure that
// tells them apart is judged by what it would be under every other way to deal out the runs. Where
// runs came in pairs, one of each side, only the two of a pair can be exchanged.
//
// Where the ways are few, all are taken; else a sample, drawn from a fixed seed, so that the same
// runs give the same answer on every machine.
//
//   8 + 8 runs    12,870 ways, all of them
//   8 pairs       256
//   10 + 10       184,756, of which 5,000 are drawn
//
// Not here: figures (family.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ctprof::statistics {

// How many runs each side has. Of pairs both have as many.
struct Design {
  std::size_t baseline = 0;
  std::size_t candidate = 0;
  bool paired = false;

  std::size_t runs() const { return baseline + candidate; }
  bool operator==(const Design&) const = default;
};

// As many are taken all together, and so many drawn where there are more.
inline constexpr std::uint64_t kMostLabellings = 16384;
inline constexpr std::size_t kDrawnLabellings = 5000;

// How many there are; kMostLabellings + 1 for all numbers beyond.
std::uint64_t ways(const Design& design);

// The smallest p that such sides can have: 1 / ways(), or 2 / ways() where exchanging the sides
// changes no figure; not below 1 / kDrawnLabellings where labellings are drawn. 1 where a side has
// no run.
double smallest_p(const Design& design);

// The smallest number of runs of each side, or of pairs, that can have a p of at most `alpha`; none
// if no number can.
std::optional<std::size_t> enough_runs(double alpha, bool paired);

// Random numbers that are the same on every machine (splitmix64); the library's distributions are
// not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  // Below `end`, each as likely as another. REQUIRES: end > 0.
  std::uint64_t below(std::uint64_t end);

 private:
  std::uint64_t next();
  std::uint64_t state_;
};

class Labellings {
 public:
  explicit Labellings(const Design& design);

  const Design& design() const { return design_; }
  // Whether they are all, or a sample.
  bool are_all() const { return all_; }
  // How many stand for all. Of two that differ by an exchange of the sides only one is here if the
  // sides have equally many runs, since no figure tells them apart.
  std::size_t size() const { return count_; }
  // Each run's side, 1 for the candidate: the baseline's runs first. Of pairs, 1 for each pair that
  // is exchanged. The first labelling is that which was observed.
  std::span<const std::uint8_t> operator[](std::size_t at) const {
    return std::span(marks_).subspan(at * width_, width_);
  }

 private:
  void take_all_choices();
  void take_all_flips();
  void draw();
  std::uint8_t* add();

  Design design_;
  bool all_ = true;
  std::size_t width_ = 0, count_ = 0;
  std::vector<std::uint8_t> marks_;
};

}  // namespace ctprof::statistics
