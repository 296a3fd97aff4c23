#include "core/statistics/family.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/workers.hpp"
#include "core/statistics/interval.hpp"

namespace ctprof::statistics {
namespace {

// Rows are worked on side by side, as many as one block has.
constexpr std::size_t kBlock = 64;
constexpr std::size_t kLabellingsOfPiece = 128;
constexpr unsigned kMostWorkers = 8;

using Lane = std::array<double, kBlock>;

// Rows side by side: for each mark of a labelling their figures, centred so that they add up to
// zero, or of pairs their differences; zero for gaps.
struct Block {
  std::size_t rows = 0;
  bool has_gaps = false;
  std::vector<Lane> figures, present;  // by mark; 1 or 0
  Lane counts{}, squares{}, pads{};    // of the figures that there are
};

std::vector<double> differences(std::span<const double> row) {
  const std::size_t pairs = row.size() / 2;
  std::vector<double> found(pairs);
  for (std::size_t pair = 0; pair < pairs; ++pair) found[pair] = row[pairs + pair] - row[pair];
  return found;
}

constexpr double kLastDigits = 1e-14;

// A figure that equals the mean of all but for its last digits.
bool is_same(double figure, double centre) {
  return std::abs(figure - centre) <= std::abs(centre) * kLastDigits;
}

void put(Block& block, std::vector<double> figures, bool centred) {
  const std::size_t at = block.rows++;
  double sum = 0;
  for (const double figure : figures) {
    block.counts[at] += !std::isnan(figure);
    block.has_gaps = block.has_gaps || std::isnan(figure);
    sum += std::isnan(figure) ? 0 : figure;
  }
  const double centre = centred && block.counts[at] > 0 ? sum / block.counts[at] : 0;
  for (std::size_t mark = 0; mark < figures.size(); ++mark) {
    const bool is_there = !std::isnan(figures[mark]);
    const bool varies = is_there && !is_same(figures[mark], centre);
    const double figure = varies ? figures[mark] - centre : 0;
    block.figures[mark][at] = figure;
    block.present[mark][at] = is_there;
    block.squares[at] += figure * figure;
  }
}

// Turns sums of squares that are nothing but the last digits of others into zero.
double above_noise(double rest, double of) { return rest > of * 1e-12 ? rest : 0; }

double over(double difference, double error) {
  if (error > 0) return difference / error;
  return difference > 0 ? std::numeric_limits<double>::infinity() : 0;
}

class Judge {
 public:
  Judge(const Labellings& labellings, const FamilyRows& rows) : labellings_(&labellings) {
    const Design& design = labellings.design();
    const std::size_t marks = design.paired ? design.baseline : design.runs();
    for (std::size_t row = 0; row < rows.count(); ++row) {
      if (row % kBlock == 0) {
        blocks_.emplace_back();
        blocks_.back().figures.resize(marks);
        blocks_.back().present.resize(marks);
      }
      const auto figures = rows.row(row);
      put(blocks_.back(),
          design.paired ? differences(figures)
                        : std::vector<double>(figures.begin(), figures.end()),
          !design.paired);
    }
    set_pads(rows.kinds);
  }

  // The statistic of each row as it was observed.
  std::vector<double> observed() const {
    std::vector<double> all;
    for (const Block& block : blocks_) {
      const Lane of_block = statistics(block, 0);
      all.insert(all.end(), of_block.begin(),
                 of_block.begin() + static_cast<std::ptrdiff_t>(block.rows));
    }
    return all;
  }

  std::vector<double> pads() const {
    std::vector<double> all;
    for (const Block& block : blocks_)
      all.insert(all.end(), block.pads.begin(),
                 block.pads.begin() + static_cast<std::ptrdiff_t>(block.rows));
    return all;
  }

  // The errors of rows as if all runs were of one side.
  std::vector<double> errors() const {
    std::vector<double> all;
    for (const Block& block : blocks_)
      for (std::size_t row = 0; row < block.rows; ++row) all.push_back(error_of_all(block, row));
    return all;
  }

  // The largest of all rows, by labelling.
  std::vector<double> largest() const {
    std::vector<double> most(labellings_->size());
    const std::size_t pieces = (most.size() + kLabellingsOfPiece - 1) / kLabellingsOfPiece;
    share(std::min(kMostWorkers, spare_workers()), pieces, [&](unsigned, std::size_t piece) {
      const std::size_t first = piece * kLabellingsOfPiece;
      const std::size_t last = std::min(first + kLabellingsOfPiece, most.size());
      for (const Block& block : blocks_)
        for (std::size_t at = first; at < last; ++at) {
          const Lane of_block = statistics(block, at);
          most[at] = std::max(most[at], *std::max_element(of_block.begin(), of_block.end()));
        }
    });
    return most;
  }

 private:
  const Design& design() const { return labellings_->design(); }

  // The error of a row as if all its runs were of one side.
  double error_of_all(const Block& block, std::size_t row) const {
    const double count = block.counts[row];
    if (design().paired) return count > 0 ? std::sqrt(block.squares[row]) / count : 0;
    if (count < 2) return 0;
    const double share =
        1 / static_cast<double>(design().baseline) + 1 / static_cast<double>(design().candidate);
    return std::sqrt(block.squares[row] / (count - 1) * share);
  }

  void set_pads(std::span<const std::uint32_t> kinds) {
    std::map<std::uint32_t, std::vector<double>> errors;
    for (std::size_t row = 0; row < kinds.size(); ++row)
      if (const double error = error_of_all(blocks_[row / kBlock], row % kBlock); error > 0)
        errors[kinds[row]].push_back(error);
    std::map<std::uint32_t, double> pads;
    for (auto& [kind, all] : errors) {
      std::ranges::sort(all);
      const std::size_t last = all.size() - 1;
      pads[kind] = kPadShare * (all[last / 2] + all[last - last / 2]) / 2;
    }
    for (std::size_t row = 0; row < kinds.size(); ++row)
      blocks_[row / kBlock].pads[row % kBlock] = pads[kinds[row]];
  }

  // Zero for rows that lack figures of a side.
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

  Lane of_sides(const Block& block, std::span<const std::uint8_t> sides) const {
    Lane sums{}, candidates{}, found{};
    if (!block.has_gaps) candidates.fill(static_cast<double>(design().candidate));
    for (std::size_t run = 0; run < sides.size(); ++run) {
      if (!sides[run]) continue;
      for (std::size_t row = 0; row < kBlock; ++row) sums[row] += block.figures[run][row];
      for (std::size_t row = 0; block.has_gaps && row < kBlock; ++row)
        candidates[row] += block.present[run][row];
    }
    for (std::size_t row = 0; row < block.rows; ++row) {
      const double m = candidates[row], n = block.counts[row] - m;
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
  std::vector<Block> blocks_;
};

// The mean difference; NaN where a side has no figure.
double shift_of(std::span<const double> row, const Design& design) {
  double sums[2] = {}, counts[2] = {};
  for (std::size_t run = 0; run < row.size(); ++run) {
    const std::size_t side = run >= design.baseline;
    const std::size_t other = side ? run - design.baseline : run + design.baseline;
    if (std::isnan(row[run]) || (design.paired && std::isnan(row[other]))) continue;
    sums[side] += row[run];
    ++counts[side];
  }
  return sums[1] / counts[1] - sums[0] / counts[0];
}

}  // namespace

Family::Family(const Design& design, FamilyRows rows)
    : labellings_(design), rows_(std::move(rows)) {
  const Judge judge(labellings_, rows_);
  largest_ = judge.largest();
  std::ranges::sort(largest_);
  errors_ = judge.errors();
  pads_ = judge.pads();
  const std::vector<double> observed = judge.observed();
  for (std::size_t row = 0; row < rows_.count(); ++row) {
    shifts_.push_back(shift_of(rows_.row(row), design));
    const double least = observed[row] * (1 - kTie);
    const auto as_large = largest_.end() - std::ranges::lower_bound(largest_, least);
    ps_.push_back(std::isnan(shifts_.back())
                      ? 1
                      : static_cast<double>(as_large) / static_cast<double>(largest_.size()));
  }
}

double Family::needed(std::size_t row, double alpha) const {
  const auto allowed =
      static_cast<std::size_t>(alpha * static_cast<double>(largest_.size()) + kTie);
  if (allowed == 0) return std::numeric_limits<double>::quiet_NaN();
  return largest_[largest_.size() - allowed] * (errors_[row] + pads_[row]);
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

Interval Family::interval(std::size_t row, double alpha) const {
  const Design& design = labellings_.design();
  const auto figures = rows_.row(row);
  std::vector<double> there =
      design.paired ? differences(figures) : std::vector<double>(figures.begin(), figures.end());
  Design own = design;
  for (std::size_t mark = 0; mark < there.size(); ++mark) {
    if (!std::isnan(there[mark])) continue;
    if (design.paired || mark < design.baseline) --own.baseline;
    if (design.paired || mark >= design.baseline) --own.candidate;
  }
  if (own.baseline == 0 || own.candidate == 0) return {};
  if (own == design) return invert(there, labellings_, alpha);
  std::erase_if(there, [](double figure) { return std::isnan(figure); });
  return invert(there, Labellings(own), alpha);
}

}  // namespace ctprof::statistics
