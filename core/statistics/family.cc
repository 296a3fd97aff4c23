#include "core/statistics/family.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/workers.hpp"
#include "core/statistics/interval.hpp"

namespace ctprof::statistics {
namespace {

// The number of rows that are computed together.
constexpr std::size_t kRowsPerBlock = 64;
constexpr std::size_t kLabellingsPerPiece = 128;
constexpr unsigned kMaxWorkers = 8;

using RowValues = std::array<double, kRowsPerBlock>;

std::vector<double> compute_differences(std::span<const double> row) {
  const std::size_t pairs = row.size() / 2;
  std::vector<double> found(pairs);
  for (std::size_t pair = 0; pair < pairs; ++pair) found[pair] = row[pairs + pair] - row[pair];
  return found;
}

// Returns the values of a row that labellings mark: its figures, or for pairs their differences.
std::vector<double> get_marked_values(std::span<const double> row, const Design& design) {
  return design.is_paired ? compute_differences(row) : std::vector<double>(row.begin(), row.end());
}

constexpr double kCentreTolerance = 1e-14;

// Returns whether a figure equals the mean except for its last digits.
bool is_equal(double figure, double centre) {
  return std::abs(figure - centre) <= std::abs(centre) * kCentreTolerance;
}

// Computes the mean exactly. A sum of thousands of figures loses digits, so that a row of equal
// figures would seem to vary.
double compute_mean(std::span<const double> figures, double estimate) {
  double rest = 0, count = 0;
  for (const double figure : figures) {
    if (std::isnan(figure)) continue;
    rest += figure - estimate;
    ++count;
  }
  return estimate + rest / count;
}

// A row minus its mean, so that its figures add up to zero; pairs are unchanged. Gaps become zeros.
struct CentredRow {
  std::vector<double> figures;
  std::vector<bool> is_present;
  double count = 0, squares = 0;  // of the figures that are present
};

CentredRow centre_row(std::vector<double> figures, const Design& design) {
  CentredRow row{std::move(figures), {}, 0, 0};
  double sum = 0;
  for (const double figure : row.figures) {
    row.is_present.push_back(!std::isnan(figure));
    row.count += row.is_present.back();
    sum += row.is_present.back() ? figure : 0;
  }
  const double centre =
      !design.is_paired && row.count > 0 ? compute_mean(row.figures, sum / row.count) : 0;
  for (double& figure : row.figures) {
    figure = !std::isnan(figure) && !is_equal(figure, centre) ? figure - centre : 0;
    row.squares += figure * figure;
  }
  return row;
}

// Several rows. For each mark of a labelling: their figures, and for rows with gaps which of the
// figures are present.
struct RowBlock {
  std::size_t rows = 0;
  std::vector<RowValues> figures;
  std::vector<RowValues> is_present;  // 1 or 0; empty if there are no gaps
  RowValues counts{}, squares{}, pads{};
};

// Rounds sums of squares that are only rounding errors to zero.
double round_noise_to_zero(double rest, double reference) {
  return rest > reference * 1e-12 ? rest : 0;
}

double divide_by_error(double difference, double error) {
  if (error > 0) return difference / error;
  return difference > 0 ? std::numeric_limits<double>::infinity() : 0;
}

// Adds the figures of the runs for a few rows at a time, so that the sums stay in registers.
void add_runs(RowValues& sums, const std::vector<RowValues>& figures,
              std::span<const std::uint32_t> runs) {
  constexpr std::size_t kRowsAtOnce = 16;
  static_assert(kRowsPerBlock % kRowsAtOnce == 0);
  for (std::size_t first = 0; first < kRowsPerBlock; first += kRowsAtOnce) {
    std::array<double, kRowsAtOnce> partial_sums{};
    for (const std::uint32_t run : runs) {
      const double* const row = figures[run].data() + first;
      for (std::size_t at = 0; at < kRowsAtOnce; ++at) partial_sums[at] += row[at];
    }
    std::copy(partial_sums.begin(), partial_sums.end(),
              sums.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

// Tests the rows block by block, because the figures of all rows need much memory if there are many
// runs.
class FamilyTest {
 public:
  FamilyTest(const Labellings& labellings, const FamilyRows& rows)
      : labellings_(&labellings), rows_(&rows), largest_(labellings.size()) {
    for (std::size_t row = 0; row < rows.count(); ++row) {
      const CentredRow one = centre_row(get_marked_values(rows.row(row), design()), design());
      errors_.push_back(get_pooled_error(one.count, one.squares));
    }
    set_pads(rows.resolutions);
    for (std::size_t first = 0; first < rows.count(); first += kRowsPerBlock)
      test_block(make_block(first));
  }

  // Returns the observed statistic of each row.
  std::vector<double> take_observed() { return std::move(observed_); }
  std::vector<double> take_pads() { return std::move(pads_); }
  // Returns the errors of the rows as if all runs were from one side.
  std::vector<double> take_errors() { return std::move(errors_); }
  // Returns the share of labellings under which a row's statistic is at least as large as observed.
  std::vector<double> take_unadjusted_p() { return std::move(unadjusted_ps_); }
  // Returns the largest statistic of all rows, by labelling.
  std::vector<double> take_largest() { return std::move(largest_); }

 private:
  const Design& design() const { return labellings_->design(); }

  // Returns the error of a row as if all its runs were from one side.
  double get_pooled_error(double count, double squares) const {
    if (design().is_paired) return count > 0 ? std::sqrt(squares) / count : 0;
    if (count < 2) return 0;
    const double share =
        1 / static_cast<double>(design().baseline) + 1 / static_cast<double>(design().candidate);
    return std::sqrt(squares / (count - 1) * share);
  }

  // Sets the errors of differences of means whose figures are off by their resolution.
  void set_pads(std::span<const double> resolutions) {
    const double share =
        1 / static_cast<double>(design().baseline) + 1 / static_cast<double>(design().candidate);
    for (const double resolution : resolutions)
      pads_.push_back(std::max(resolution, kMinResolution) * std::sqrt(share));
  }

  RowBlock make_block(std::size_t first) const {
    RowBlock block;
    block.rows = std::min(kRowsPerBlock, rows_->count() - first);
    const std::size_t marks = design().is_paired ? design().baseline : design().runs();
    block.figures.resize(marks);
    for (std::size_t at = 0; at < block.rows; ++at) {
      const CentredRow row =
          centre_row(get_marked_values(rows_->row(first + at), design()), design());
      for (std::size_t mark = 0; mark < marks; ++mark) block.figures[mark][at] = row.figures[mark];
      if (row.count < static_cast<double>(marks) && block.is_present.empty()) {
        block.is_present.resize(marks);
        for (RowValues& lane : block.is_present) lane.fill(1);
      }
      for (std::size_t mark = 0; mark < block.is_present.size(); ++mark)
        block.is_present[mark][at] = row.is_present[mark];
      block.counts[at] = row.count;
      block.squares[at] = row.squares;
      block.pads[at] = pads_[first + at];
    }
    return block;
  }

  void test_block(const RowBlock& block) {
    const std::size_t pieces = (largest_.size() + kLabellingsPerPiece - 1) / kLabellingsPerPiece;
    std::vector<std::uint32_t> runs;
    const RowValues observed = compute_statistics(block, 0, runs);
    std::vector<RowValues> as_large(pieces);  // number of labellings, by piece
    share_work(
        std::min(kMaxWorkers, count_spare_workers()), pieces, [&](unsigned, std::size_t piece) {
          const std::size_t first = piece * kLabellingsPerPiece;
          const std::size_t last = std::min(first + kLabellingsPerPiece, largest_.size());
          std::vector<std::uint32_t> added_runs;
          for (std::size_t at = first; at < last; ++at) {
            const RowValues block_statistics = compute_statistics(block, at, added_runs);
            largest_[at] = std::max(
                largest_[at], *std::max_element(block_statistics.begin(), block_statistics.end()));
            for (std::size_t row = 0; row < block.rows; ++row)
              as_large[piece][row] +=
                  block_statistics[row] >= observed[row] * (1 - kTieTolerance) ? 1 : 0;
          }
        });
    for (std::size_t row = 0; row < block.rows; ++row) {
      double count = 0;
      for (const RowValues& piece : as_large) count += piece[row];
      unadjusted_ps_.push_back(count / static_cast<double>(largest_.size()));
    }
    observed_.insert(observed_.end(), observed.begin(),
                     observed.begin() + static_cast<std::ptrdiff_t>(block.rows));
  }

  // Returns zero for rows without figures on a side. `runs` is memory that consecutive calls reuse.
  RowValues compute_statistics(const RowBlock& block, std::size_t labelling,
                               std::vector<std::uint32_t>& runs) const {
    return design().is_paired ? compute_pair_statistics(block, (*labellings_)[labelling])
                              : compute_side_statistics(block, (*labellings_)[labelling], runs);
  }

  static RowValues compute_pair_statistics(const RowBlock& block,
                                           std::span<const std::uint8_t> flips) {
    RowValues sums{}, found{};
    for (std::size_t pair = 0; pair < flips.size(); ++pair) {
      const double sign = flips[pair] ? -1 : 1;
      for (std::size_t row = 0; row < kRowsPerBlock; ++row)
        sums[row] += sign * block.figures[pair][row];
    }
    for (std::size_t row = 0; row < block.rows; ++row) {
      const double pairs = block.counts[row];
      if (pairs < 1) continue;
      const double square = block.squares[row] / pairs, mean = sums[row] / pairs;
      const double rest = round_noise_to_zero(square - mean * mean, square);
      const double error = pairs > 1 ? std::sqrt(rest / (pairs - 1)) : 0;
      found[row] = divide_by_error(std::abs(mean), error + block.pads[row]);
    }
    return found;
  }

  // The figures add up to zero, so the sum of one side determines the other. The side with fewer
  // runs is added up.
  RowValues compute_side_statistics(const RowBlock& block, std::span<const std::uint8_t> sides,
                                    std::vector<std::uint32_t>& runs) const {
    const std::uint8_t added_side = design().candidate <= design().baseline ? 1 : 0;
    runs.clear();
    for (std::uint32_t run = 0; run < sides.size(); ++run)
      if (sides[run] == added_side) runs.push_back(run);
    RowValues sums{}, counts{}, found{};
    add_runs(sums, block.figures, runs);
    if (block.is_present.empty())
      counts.fill(static_cast<double>(runs.size()));
    else
      add_runs(counts, block.is_present, runs);
    for (std::size_t row = 0; row < block.rows; ++row) {
      const double m = counts[row], n = block.counts[row] - m;
      if (m < 1 || n < 1) continue;
      const double share = 1 / n + 1 / m, difference = sums[row] * share;
      const double square = block.squares[row];
      const double rest = round_noise_to_zero(square - difference * difference / share, square);
      const double error = n + m > 2 ? std::sqrt(rest / (n + m - 2) * share) : 0;
      found[row] = divide_by_error(std::abs(difference), error + block.pads[row]);
    }
    return found;
  }

  const Labellings* labellings_;
  const FamilyRows* rows_;
  std::vector<double> errors_, pads_, observed_, unadjusted_ps_;  // by row
  std::vector<double> largest_;                                   // by labelling
};

struct SideMeans {
  double baseline = 0, candidate = 0;
};

// Returns the mean of each side; NaN if it has no figure.
SideMeans compute_side_means(std::span<const double> row, const Design& design) {
  double sums[2] = {}, counts[2] = {};
  for (std::size_t run = 0; run < row.size(); ++run) {
    const std::size_t side = run >= design.baseline;
    const std::size_t other = side ? run - design.baseline : run + design.baseline;
    if (std::isnan(row[run]) || (design.is_paired && std::isnan(row[other]))) continue;
    sums[side] += row[run];
    ++counts[side];
  }
  return {sums[0] / counts[0], sums[1] / counts[1]};
}

}  // namespace

Family::Family(const Design& design, FamilyRows rows)
    : labellings_(design), rows_(std::move(rows)) {
  FamilyTest family_test(labellings_, rows_);
  largest_ = family_test.take_largest();
  std::ranges::sort(largest_);
  errors_ = family_test.take_errors();
  pads_ = family_test.take_pads();
  unadjusted_ps_ = family_test.take_unadjusted_p();
  const std::vector<double> observed = family_test.take_observed();
  for (std::size_t row = 0; row < rows_.count(); ++row) {
    const SideMeans means = compute_side_means(rows_.row(row), design);
    shifts_.push_back(means.candidate - means.baseline);
    baseline_means_.push_back(means.baseline);
    const double min_statistic = observed[row] * (1 - kTieTolerance);
    const auto as_large = largest_.end() - std::ranges::lower_bound(largest_, min_statistic);
    if (std::isnan(shifts_.back())) unadjusted_ps_[row] = 1;
    ps_.push_back(std::isnan(shifts_.back())
                      ? 1
                      : static_cast<double>(as_large) / static_cast<double>(largest_.size()));
  }
}

double Family::compute_required_statistic(double alpha) const {
  const auto allowed =
      static_cast<std::size_t>(alpha * static_cast<double>(largest_.size()) + kTieTolerance);
  if (allowed == 0) return std::numeric_limits<double>::quiet_NaN();
  return largest_[largest_.size() - allowed];
}

double Family::compute_required_difference(std::size_t row, double alpha) const {
  return compute_required_statistic(alpha) * (errors_[row] + pads_[row]);
}

double Family::compute_difference_quantile(std::size_t row, double share) const {
  const Design& design = labellings_.design();
  const auto figures = rows_.row(row);
  std::vector<double> all;
  for (std::size_t at = 0; at < labellings_.size(); ++at) {
    double sums[2] = {};
    for (std::size_t run = 0; run < figures.size(); ++run)
      sums[design.is_paired
               ? (run >= design.baseline) != (labellings_[at][run % design.baseline] != 0)
               : labellings_[at][run] != 0] += figures[run];
    all.push_back(std::abs(sums[1] / static_cast<double>(design.candidate) -
                           sums[0] / static_cast<double>(design.baseline)));
  }
  std::ranges::sort(all);
  const auto at = static_cast<std::size_t>(share * static_cast<double>(all.size() - 1) + 0.5);
  return all[at];
}

namespace {

// Returns how many figures of each side, or how many pairs, a row has.
Design get_row_design(std::span<const double> values, Design design) {
  for (std::size_t mark = 0, baseline = design.baseline; mark < values.size(); ++mark) {
    if (!std::isnan(values[mark])) continue;
    if (design.is_paired || mark < baseline) --design.baseline;
    if (design.is_paired || mark >= baseline) --design.candidate;
  }
  return design;
}

}  // namespace

Interval Family::compute_interval(std::size_t row, double alpha) const {
  return compute_intervals({&row, 1}, alpha).front();
}

std::vector<Interval> Family::compute_all_intervals(double alpha) const {
  std::vector<std::size_t> all(rows());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return compute_intervals(all, alpha);
}

// Rows with the same numbers of figures share labellings.
std::vector<Interval> Family::compute_intervals(std::span<const std::size_t> rows,
                                                double alpha) const {
  const Design& design = labellings_.design();
  // Positions in `rows`, by numbers of figures.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> rows_by_size;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Design row_design =
        get_row_design(get_marked_values(rows_.row(rows[at]), design), design);
    if (row_design.baseline > 0 && row_design.candidate > 0)
      rows_by_size[{row_design.baseline, row_design.candidate}].push_back(at);
  }
  std::vector<Interval> found(rows.size());
  for (const auto& [sizes, places] : rows_by_size) {
    const Design row_design{sizes.first, sizes.second, design.is_paired};
    const std::optional<Labellings> own_labellings =
        row_design == design ? std::nullopt : std::optional<Labellings>(row_design);
    const std::size_t blocks = (places.size() + kRowsPerBlock - 1) / kRowsPerBlock;
    const unsigned workers = blocks > 1 ? std::min(kMaxWorkers, count_spare_workers()) : 1;
    share_work(workers, blocks, [&, &places = places](unsigned, std::size_t block) {
      const std::size_t first = block * kRowsPerBlock;
      const auto block_places =
          std::span(places).subspan(first, std::min(kRowsPerBlock, places.size() - first));
      std::vector<std::vector<double>> figures;
      for (const std::size_t place : block_places) {
        figures.push_back(get_marked_values(rows_.row(rows[place]), design));
        std::erase_if(figures.back(), [](double figure) { return std::isnan(figure); });
      }
      const auto intervals = statistics::compute_intervals(
          figures, own_labellings ? *own_labellings : labellings_, alpha);
      for (std::size_t at = 0; at < block_places.size(); ++at)
        found[block_places[at]] = intervals[at];
    });
  }
  return found;
}

}  // namespace ctprof::statistics
