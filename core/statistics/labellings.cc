#include "core/statistics/labellings.hpp"

#include <algorithm>
#include <utility>

namespace ctprof::statistics {
namespace {

// The largest number of runs that is tried. It suffices for the smallest alpha that a sample of
// labellings can reach, even for pairs.
constexpr std::size_t kMaxTriedRuns = 64;

constexpr std::uint64_t kSeedOfLabellings = 19;

std::uint64_t count_choices(std::size_t total, std::size_t chosen) {
  std::uint64_t ways = 1;
  for (std::size_t i = 1; i <= std::min(chosen, total - chosen); ++i) {
    ways = ways * (total - i + 1) / i;
    if (ways > kMaxLabellings) return kMaxLabellings + 1;
  }
  return ways;
}

// Returns whether exchanging the sides gives another labelling with the same statistic.
bool has_mirror(const Design& design) {
  return design.is_paired || design.baseline == design.candidate;
}

}  // namespace

std::uint64_t RandomNumbers::get_below(std::uint64_t end) {
  const std::uint64_t unbiased_end = UINT64_MAX - UINT64_MAX % end;
  std::uint64_t drawn = next();
  while (drawn >= unbiased_end) drawn = next();
  return drawn % end;
}

std::uint64_t RandomNumbers::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

std::uint64_t count_labellings(const Design& design) {
  if (!design.is_paired) return count_choices(design.runs(), design.candidate);
  return design.baseline < 15 ? std::uint64_t{1} << design.baseline : kMaxLabellings + 1;
}

double compute_smallest_p(const Design& design) {
  if (design.baseline == 0 || design.candidate == 0) return 1;
  const std::uint64_t all = count_labellings(design);
  if (all > kMaxLabellings) return 1.0 / kDrawnLabellings;
  return (has_mirror(design) ? 2.0 : 1.0) / static_cast<double>(all);
}

std::optional<std::size_t> compute_required_runs(double alpha, bool is_paired) {
  for (std::size_t runs = 1; runs <= kMaxTriedRuns; ++runs)
    if (compute_smallest_p({runs, runs, is_paired}) <= alpha) return runs;
  return std::nullopt;
}

Labellings::Labellings(const Design& design)
    : design_(design),
      all_(count_labellings(design) <= kMaxLabellings),
      width_(design.is_paired ? design.baseline : design.runs()) {
  if (!all_)
    draw_sample();
  else
    design.is_paired ? add_all_flips() : add_all_choices();
}

std::uint8_t* Labellings::append_labelling() {
  marks_.resize(++count_ * width_);
  return marks_.data() + (count_ - 1) * width_;
}

// Adds all choices of the candidate's runs. It starts with the observed choice, the last runs, and
// adds the others in byte order. If labellings have mirrors, the first run stays in the baseline.
void Labellings::add_all_choices() {
  std::vector<bool> marks(width_);  // GCC 12 warns about bytes where this is inlined on arm64
  std::fill(marks.begin() + static_cast<std::ptrdiff_t>(design_.baseline), marks.end(), true);
  const auto first = marks.begin() + (has_mirror(design_) && width_ > 0 ? 1 : 0);
  do std::copy(marks.begin(), marks.end(), append_labelling());
  while (std::next_permutation(first, marks.end()));
}

// Adds all flips of pairs. The first pair stays as it is: exchanging all pairs changes no
// statistic.
void Labellings::add_all_flips() {
  const std::size_t free_pairs = width_ > 0 ? width_ - 1 : 0;
  for (std::uint64_t flips = 0; flips < std::uint64_t{1} << free_pairs; ++flips) {
    std::uint8_t* marks = append_labelling();
    for (std::size_t pair = 0; pair < free_pairs; ++pair) marks[pair + 1] = (flips >> pair) & 1;
  }
}

void Labellings::draw_sample() {
  RandomNumbers dice(kSeedOfLabellings);
  marks_.reserve(kDrawnLabellings * width_);
  std::vector<std::uint8_t> marks(width_);
  if (!design_.is_paired)
    std::fill(marks.begin() + static_cast<std::ptrdiff_t>(design_.baseline), marks.end(), 1);
  while (count_ < kDrawnLabellings) {
    std::ranges::copy(marks, append_labelling());
    for (std::size_t remaining = width_; remaining > 0; --remaining)
      if (design_.is_paired)
        marks[remaining - 1] = static_cast<std::uint8_t>(dice.get_below(2));
      else
        std::swap(marks[remaining - 1], marks[dice.get_below(remaining)]);
  }
}

}  // namespace ctprof::statistics
