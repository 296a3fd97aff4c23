// Noise: the variation between runs of one condition, and the shifts that a comparison on this host
// can detect.
//
// The runs are divided into halves in many ways, as if these were two sides. The halves differ only
// by chance, and a real difference must exceed that.
//
// See also: render/noise_text.hpp formats text and JSON.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Fewer runs cannot be divided into enough halves.
inline constexpr std::size_t kMinNoiseRuns = 4;

// A headline of a group above its floor. Spreads and shifts are fractions, as in RowTestResult.
struct NoiseRow {
  std::uint32_t group = 0;
  std::size_t column = 0;        // index in Noise::columns
  double median = 0;             // as on the first screen
  double spread = 0;             // the standard deviation of the logarithms over the runs
  double halves_difference = 0;  // the largest difference between halves in 95 % of the divisions
  // The shift that would be significant in about 9 of 10 comparisons with this number of runs per
  // side, for each entry of kNoiseRuns; NaN if so few runs cannot be significant.
  std::vector<double> detectable_shifts;
  double detectable_shift_of_pairs = 0;  // the same for kNoiseRunPairs interleaved pairs
  // The number of pairs that would detect Noise::shift; no value if kMaxPairs do not.
  std::optional<std::size_t> required_pairs{};
};

inline constexpr std::size_t kNoiseRuns[] = {4, 8, 16};
inline constexpr std::size_t kNoiseRunPairs = 8;

struct Noise {
  std::size_t runs = 0, labellings = 0;
  bool has_all_labellings = false;
  double alpha = 0;
  double shift = 0;        // the shift for required_pairs, as a fraction; 0: not requested
  double run_seconds = 0;  // mean length of a run
  std::vector<ScreenColumn> columns;
  std::vector<NoiseRow> rows;  // in the order of groups on the first screen, then of columns
};

// The error explains why noise cannot be computed from these runs.
Result<Noise> compute_noise(const Report& report, double shift = 0);

}  // namespace ctprof
