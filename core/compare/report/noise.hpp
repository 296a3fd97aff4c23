// Noise: how much the runs of one condition waver, and what a comparison on this host could show.
//
// The runs are split in halves in many ways, as if they were two sides. So the halves differ by
// chance alone, and that is what a real difference has to outdo.
//
// Not here: text and JSON (render/noise_text.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Fewer runs have too few halves.
inline constexpr std::size_t kLeastRunsOfNoise = 4;

// A headline of a group that is above its floor. Spreads and shifts are fractions, as in Proof.
struct NoiseRow {
  std::uint32_t group = 0;
  std::size_t column = 0;  // of Noise::columns
  double median = 0;       // as the first screen has it
  double spread = 0;       // the standard deviation of the runs' logarithms
  double halves = 0;       // by how much halves differ at most in 19 of 20 ways to split them
  // Which shift would be proven in about 9 of 10 comparisons with so many runs a side, by count of
  // kNoiseRuns; NaN where so many prove nothing.
  std::vector<double> shows;
  double pairs_show = 0;  // the same of kNoiseRunPairs interleaved pairs
  // How many pairs would show Noise::shift; none where kMostPairs do not.
  std::optional<std::size_t> enough_pairs{};
};

inline constexpr std::size_t kNoiseRuns[] = {4, 8, 16};
inline constexpr std::size_t kNoiseRunPairs = 8;

struct Noise {
  std::size_t runs = 0, labellings = 0;
  bool all_labellings = false;
  double alpha = 0;
  double shift = 0;        // that enough_pairs are for, as a fraction; 0: not requested
  double run_seconds = 0;  // the mean length of a run
  std::vector<ScreenColumn> columns;
  std::vector<NoiseRow> rows;  // in the order of groups on the first screen, then of columns
};

// The error says why these runs cannot tell.
Result<Noise> noise_of(const Report& report, double shift = 0);

}  // namespace ctprof
