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
constexpr std::size_t kBlock = 64;
constexpr std::size_t kLabellingsOfPiece = 128;
constexpr unsigned kMostWorkers = 8;

using Lane = std::array<double, kBlock>;

std::vector<double> differences(std::span<const double> row) {
  const std::size_t pairs = row.size() / 2;
  std::vector<double> found(pairs);
  for (std::size_t pair = 0; pair < pairs; ++pair) found[pair] = row[pairs + pair] - row[pair];
  return found;
}

// Returns the values of a row that labellings mark: its figures, or for pairs their differences.
std::vector<double> marked(std::span<const double> row, const Design& design) {
  return design.paired ? differences(row) : std::vector<double>(row.begin(), row.end());
}

constexpr double kLastDigits = 1e-14;

// Returns whether a figure equals the mean except for its last digits.
bool is_same(double figure, double centre) {
  return std::abs(figure - centre) <= std::abs(centre) * kLastDigits;
}

// Computes the mean exactly. A sum of thousands of figures loses digits, so that a row of equal
// figures would seem to vary.
double mean_of(std::span<const double> figures, double about) {
  double rest = 0, count = 0;
  for (const double figure : figures) {
    if (std::isnan(figure)) continue;
    rest += figure - about;
    ++count;
  }
  return about + rest / count;
}

// A row minus its mean, so that its figures add up to zero; pairs are unchanged. Gaps become zeros.
struct Centred {
  std::vector<double> figures;
  std::vector<bool> present;
  double count = 0, squares = 0;  // of the figures that are present
};

Centred centred(std::vector<double> figures, const Design& design) {
  Centred row{std::move(figures), {}, 0, 0};
  double sum = 0;
  for (const double figure : row.figures) {
    row.present.push_back(!std::isnan(figure));
    row.count += row.present.back();
    sum += row.present.back() ? figure : 0;
  }
  const double centre = !design.paired && row.count > 0 ? mean_of(row.figures, sum / row.count) : 0;
  for (double& figure : row.figures) {
    figure = !std::isnan(figure) && !is_same(figure, centre) ? figure - centre : 0;
    row.squares += figure * figure;
  }
  return row;
}

// Several rows: for each mark of a labelling their figures, and for rows with gaps which are
// present.
struct Block {
  std::size_t rows = 0;
  std::vector<Lane> figures;
  std::vector<Lane> present;  // 1 or 0; empty if there are no gaps
  Lane counts{}, squares{}, pads{};
};

// Rounds sums of squares that are only rounding errors to zero.
double above_noise(double rest, double of) { return rest > of * 1e-12 ? rest : 0; }

double over(double difference, double error) {
  if (error > 0) return difference / error;
  return difference > 0 ? std::numeric_limits<double>::infinity() : 0;
}

// Adds the figures of the runs for a few rows at a time, so that the sums stay in registers.
void add_runs(Lane& sums, const std::vector<Lane>& figures, std::span<const std::uint32_t> runs) {
  constexpr std::size_t kAtOnce = 16;
  static_assert(kBlock % kAtOnce == 0);
  for (std::size_t first = 0; first < kBlock; first += kAtOnce) {
    std::array<double, kAtOnce> some{};
    for (const std::uint32_t run : runs) {
      const double* const row = figures[run].data() + first;
      for (std::size_t at = 0; at < kAtOnce; ++at) some[at] += row[at];
    }
    std::copy(some.begin(), some.end(), sums.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

// Tests the rows block by block, because the figures of all rows need much memory if there are many
// runs.
class Judge {
 public:
  Judge(const Labellings& labellings, const FamilyRows& rows)
      : labellings_(&labellings), rows_(&rows), most_(labellings.size()) {
    for (std::size_t row = 0; row < rows.count(); ++row) {
      const Centred one = centred(marked(rows.row(row), design()), design());
      errors_.push_back(error_of_all(one.count, one.squares));
    }
    set_pads(rows.resolutions);
    for (std::size_t first = 0; first < rows.count(); first += kBlock) judge(block_from(first));
  }

  // Returns the observed statistic of each row.
  std::vector<double> take_observed() { return std::move(observed_); }
  std::vector<double> take_pads() { return std::move(pads_); }
  // Returns the errors of the rows as if all runs were from one side.
  std::vector<double> take_errors() { return std::move(errors_); }
  // Returns the share of labellings under which a row's statistic is at least as large as observed.
  std::vector<double> take_alone() { return std::move(alone_); }
  // Returns the largest statistic of all rows, by labelling.
  std::vector<double> take_largest() { return std::move(most_); }

 private:
  const Design& design() const { return labellings_->design(); }

  // Returns the error of a row as if all its runs were from one side.
  double error_of_all(double count, double squares) const {
    if (design().paired) return count > 0 ? std::sqrt(squares) / count : 0;
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
      pads_.push_back(std::max(resolution, kLeastResolution) * std::sqrt(share));
  }

  Block block_from(std::size_t first) const {
    Block block;
    block.rows = std::min(kBlock, rows_->count() - first);
    const std::size_t marks = design().paired ? design().baseline : design().runs();
    block.figures.resize(marks);
    for (std::size_t at = 0; at < block.rows; ++at) {
      const Centred row = centred(marked(rows_->row(first + at), design()), design());
      for (std::size_t mark = 0; mark < marks; ++mark) block.figures[mark][at] = row.figures[mark];
      if (row.count < static_cast<double>(marks) && block.present.empty()) {
        block.present.resize(marks);
        for (Lane& lane : block.present) lane.fill(1);
      }
      for (std::size_t mark = 0; mark < block.present.size(); ++mark)
        block.present[mark][at] = row.present[mark];
      block.counts[at] = row.count;
      block.squares[at] = row.squares;
      block.pads[at] = pads_[first + at];
    }
    return block;
  }

  void judge(const Block& block) {
    const std::size_t pieces = (most_.size() + kLabellingsOfPiece - 1) / kLabellingsOfPiece;
    const Lane observed = statistics(block, 0);
    std::vector<Lane> as_large(pieces);  // number of labellings, by piece
    share(std::min(kMostWorkers, spare_workers()), pieces, [&](unsigned, std::size_t piece) {
      const std::size_t first = piece * kLabellingsOfPiece;
      const std::size_t last = std::min(first + kLabellingsOfPiece, most_.size());
      for (std::size_t at = first; at < last; ++at) {
        const Lane of_block = statistics(block, at);
        most_[at] = std::max(most_[at], *std::max_element(of_block.begin(), of_block.end()));
        for (std::size_t row = 0; row < block.rows; ++row)
          as_large[piece][row] += of_block[row] >= observed[row] * (1 - kTie) ? 1 : 0;
      }
    });
    for (std::size_t row = 0; row < block.rows; ++row) {
      double count = 0;
      for (const Lane& piece : as_large) count += piece[row];
      alone_.push_back(count / static_cast<double>(most_.size()));
    }
    observed_.insert(observed_.end(), observed.begin(),
                     observed.begin() + static_cast<std::ptrdiff_t>(block.rows));
  }

  // Returns zero for rows without figures on a side.
  Lane statistics(const Block& block, std::size_t labelling) const {
    return design().paired ? of_pairs(block, (*labellings_)[labelling])
                           : of_sides(block, (*labellings_)[labelling]);
  }

  static Lane of_pairs(const Block& block, std::span<const std::uint8_t> flips) {
    Lane sums{}, found{};
    for (std::size_t pair = 0; pair < flips.size(); ++pair) {
      const double sign = flips[pair] ? -1 : 1;
      for (std::size_t row = 0; row < kBlock; ++row) sums[row] += sign * block.figures[pair][row];
    }
    for (std::size_t row = 0; row < block.rows; ++row) {
      const double pairs = block.counts[row];
      if (pairs < 1) continue;
      const double square = block.squares[row] / pairs, mean = sums[row] / pairs;
      const double rest = above_noise(square - mean * mean, square);
      const double error = pairs > 1 ? std::sqrt(rest / (pairs - 1)) : 0;
      found[row] = over(std::abs(mean), error + block.pads[row]);
    }
    return found;
  }

  // The figures add up to zero, so the sum of one side determines the other. The side with fewer
  // runs is added up.
  Lane of_sides(const Block& block, std::span<const std::uint8_t> sides) const {
    const std::uint8_t added = design().candidate <= design().baseline ? 1 : 0;
    thread_local std::vector<std::uint32_t> runs;
    runs.clear();
    for (std::uint32_t run = 0; run < sides.size(); ++run)
      if (sides[run] == added) runs.push_back(run);
    Lane sums{}, there{}, found{};
    add_runs(sums, block.figures, runs);
    if (block.present.empty())
      there.fill(static_cast<double>(runs.size()));
    else
      add_runs(there, block.present, runs);
    for (std::size_t row = 0; row < block.rows; ++row) {
      const double m = there[row], n = block.counts[row] - m;
      if (m < 1 || n < 1) continue;
      const double share = 1 / n + 1 / m, apart = sums[row] * share;
      const double square = block.squares[row];
      const double rest = above_noise(square - apart * apart / share, square);
      const double error = n + m > 2 ? std::sqrt(rest / (n + m - 2) * share) : 0;
      found[row] = over(std::abs(apart), error + block.pads[row]);
    }
    return found;
  }

  const Labellings* labellings_;
  const FamilyRows* rows_;
  std::vector<double> errors_, pads_, observed_, alone_;  // by row
  std::vector<double> most_;                              // by labelling
};

struct Means {
  double before = 0, after = 0;
};

// Returns the mean of each side; NaN if it has no figure.
Means means_of(std::span<const double> row, const Design& design) {
  double sums[2] = {}, counts[2] = {};
  for (std::size_t run = 0; run < row.size(); ++run) {
    const std::size_t side = run >= design.baseline;
    const std::size_t other = side ? run - design.baseline : run + design.baseline;
    if (std::isnan(row[run]) || (design.paired && std::isnan(row[other]))) continue;
    sums[side] += row[run];
    ++counts[side];
  }
  return {sums[0] / counts[0], sums[1] / counts[1]};
}

}  // namespace

Family::Family(const Design& design, FamilyRows rows)
    : labellings_(design), rows_(std::move(rows)) {
  Judge judge(labellings_, rows_);
  largest_ = judge.take_largest();
  std::ranges::sort(largest_);
  errors_ = judge.take_errors();
  pads_ = judge.take_pads();
  alone_ = judge.take_alone();
  const std::vector<double> observed = judge.take_observed();
  for (std::size_t row = 0; row < rows_.count(); ++row) {
    const Means means = means_of(rows_.row(row), design);
    shifts_.push_back(means.after - means.before);
    befores_.push_back(means.before);
    const double least = observed[row] * (1 - kTie);
    const auto as_large = largest_.end() - std::ranges::lower_bound(largest_, least);
    if (std::isnan(shifts_.back())) alone_[row] = 1;
    ps_.push_back(std::isnan(shifts_.back())
                      ? 1
                      : static_cast<double>(as_large) / static_cast<double>(largest_.size()));
  }
}

double Family::needed_statistic(double alpha) const {
  const auto allowed =
      static_cast<std::size_t>(alpha * static_cast<double>(largest_.size()) + kTie);
  if (allowed == 0) return std::numeric_limits<double>::quiet_NaN();
  return largest_[largest_.size() - allowed];
}

double Family::needed(std::size_t row, double alpha) const {
  return needed_statistic(alpha) * (errors_[row] + pads_[row]);
}

double Family::apart(std::size_t row, double share) const {
  const Design& design = labellings_.design();
  const auto figures = rows_.row(row);
  std::vector<double> all;
  for (std::size_t at = 0; at < labellings_.size(); ++at) {
    double sums[2] = {};
    for (std::size_t run = 0; run < figures.size(); ++run)
      sums[design.paired ? (run >= design.baseline) != (labellings_[at][run % design.baseline] != 0)
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
Design design_of(std::span<const double> marked, Design design) {
  for (std::size_t mark = 0, baseline = design.baseline; mark < marked.size(); ++mark) {
    if (!std::isnan(marked[mark])) continue;
    if (design.paired || mark < baseline) --design.baseline;
    if (design.paired || mark >= baseline) --design.candidate;
  }
  return design;
}

}  // namespace

Interval Family::interval(std::size_t row, double alpha) const {
  return intervals({&row, 1}, alpha).front();
}

std::vector<Interval> Family::intervals(double alpha) const {
  std::vector<std::size_t> all(rows());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return intervals(all, alpha);
}

// Rows with the same numbers of figures share labellings.
std::vector<Interval> Family::intervals(std::span<const std::size_t> rows, double alpha) const {
  const Design& design = labellings_.design();
  // Positions in `rows`, by numbers of figures.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> alike;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Design own = design_of(marked(rows_.row(rows[at]), design), design);
    if (own.baseline > 0 && own.candidate > 0) alike[{own.baseline, own.candidate}].push_back(at);
  }
  std::vector<Interval> found(rows.size());
  for (const auto& [sizes, places] : alike) {
    const Design own{sizes.first, sizes.second, design.paired};
    const std::optional<Labellings> made =
        own == design ? std::nullopt : std::optional<Labellings>(own);
    const std::size_t blocks = (places.size() + kBlock - 1) / kBlock;
    const unsigned workers = blocks > 1 ? std::min(kMostWorkers, spare_workers()) : 1;
    share(workers, blocks, [&, &places = places](unsigned, std::size_t block) {
      const std::size_t first = block * kBlock;
      const auto some = std::span(places).subspan(first, std::min(kBlock, places.size() - first));
      std::vector<std::vector<double>> figures;
      for (const std::size_t place : some) {
        figures.push_back(marked(rows_.row(rows[place]), design));
        std::erase_if(figures.back(), [](double figure) { return std::isnan(figure); });
      }
      const auto intervals = invert(figures, made ? *made : labellings_, alpha);
      for (std::size_t at = 0; at < some.size(); ++at) found[some[at]] = intervals[at];
    });
  }
  return found;
}

}  // namespace ctprof::statistics
