// Enumerates labellings: the possible assignments of runs to two sides.
//
// If the sides do not differ, chance alone assigned each run to its side. So a statistic that
// distinguishes the sides is compared with its values under all other assignments. If runs are
// paired, one of each side, only the two runs of a pair can be exchanged.
//
// If there are few labellings, all are used; otherwise a sample, drawn from a fixed seed, so that
// the same runs give the same result on every machine.
//
//   8 + 8 runs    12,870 labellings, all used
//   8 pairs       256, all used
//   10 + 10       184,756, of which 5,000 are drawn
//
// See also: family.hpp (statistics).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ctprof::statistics {

// The number of runs of each side. For pairs both are equal.
struct Design {
  std::size_t baseline = 0;
  std::size_t candidate = 0;
  bool is_paired = false;

  std::size_t runs() const { return baseline + candidate; }
  bool operator==(const Design&) const = default;
};

// The largest number of labellings that are all used, and the number drawn if there are more.
inline constexpr std::uint64_t kMaxLabellings = 16384;
inline constexpr std::size_t kDrawnLabellings = 5000;

// Returns the number of labellings; kMaxLabellings + 1 for all larger numbers.
std::uint64_t count_labellings(const Design& design);

// Returns the smallest p that such sides can have: 1 / ways(), or 2 / ways() if exchanging the
// sides changes no statistic; at least 1 / kDrawnLabellings if labellings are drawn. Returns 1 if a
// side has no run.
double compute_smallest_p(const Design& design);

// Returns the smallest number of runs per side, or of pairs, that can have a p of at most `alpha`;
// nothing if no number can.
std::optional<std::size_t> compute_required_runs(double alpha, bool is_paired);

// Random numbers that are equal on every machine (splitmix64); those of the standard library's
// distributions are not.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}
  // Returns a uniformly distributed number below `end`. REQUIRES: end > 0.
  std::uint64_t get_below(std::uint64_t end);

 private:
  std::uint64_t next();
  std::uint64_t state_;
};

class Labellings {
 public:
  explicit Labellings(const Design& design);

  const Design& design() const { return design_; }
  // Returns whether these are all labellings, or a sample.
  bool are_all() const { return all_; }
  // Returns the number of labellings. If the sides have the same number of runs, only one of two
  // labellings that differ by an exchange of the sides is included, because their statistics are
  // equal.
  std::size_t size() const { return count_; }
  // Returns the side of each run, 1 for the candidate, in the order of the runs with the baseline's
  // first. For pairs, 1 for each pair that is exchanged. The first labelling is the observed one.
  std::span<const std::uint8_t> operator[](std::size_t at) const {
    return std::span(marks_).subspan(at * width_, width_);
  }

 private:
  void add_all_choices();
  void add_all_flips();
  void draw_sample();
  std::uint8_t* append_labelling();

  Design design_;
  bool all_ = true;
  std::size_t width_ = 0, count_ = 0;
  std::vector<std::uint8_t> marks_;
};

}  // namespace ctprof::statistics
