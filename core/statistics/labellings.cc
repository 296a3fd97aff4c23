#include "core/statistics/labellings.hpp"

#include <algorithm>
#include <utility>

namespace ctprof::statistics {
namespace {

// With more runs, not even pairs need more for the smallest alpha that a sample can reach.
constexpr std::size_t kMostRunsTried = 64;

constexpr std::uint64_t kSeedOfLabellings = 19;

std::uint64_t choices(std::size_t of, std::size_t taken) {
  std::uint64_t ways = 1;
  for (std::size_t i = 1; i <= std::min(taken, of - taken); ++i) {
    ways = ways * (of - i + 1) / i;
    if (ways > kMostLabellings) return kMostLabellings + 1;
  }
  return ways;
}

// Returns whether exchanging the sides gives another labelling with the same statistic.
bool has_mirror(const Design& design) {
  return design.paired || design.baseline == design.candidate;
}

}  // namespace

std::uint64_t Dice::below(std::uint64_t end) {
  const std::uint64_t fair = UINT64_MAX - UINT64_MAX % end;
  std::uint64_t thrown = next();
  while (thrown >= fair) thrown = next();
  return thrown % end;
}

std::uint64_t Dice::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

std::uint64_t ways(const Design& design) {
  if (!design.paired) return choices(design.runs(), design.candidate);
  return design.baseline < 15 ? std::uint64_t{1} << design.baseline : kMostLabellings + 1;
}

double smallest_p(const Design& design) {
  if (design.baseline == 0 || design.candidate == 0) return 1;
  const std::uint64_t all = ways(design);
  if (all > kMostLabellings) return 1.0 / kDrawnLabellings;
  return (has_mirror(design) ? 2.0 : 1.0) / static_cast<double>(all);
}

std::optional<std::size_t> enough_runs(double alpha, bool paired) {
  for (std::size_t runs = 1; runs <= kMostRunsTried; ++runs)
    if (smallest_p({runs, runs, paired}) <= alpha) return runs;
  return std::nullopt;
}

Labellings::Labellings(const Design& design)
    : design_(design),
      all_(ways(design) <= kMostLabellings),
      width_(design.paired ? design.baseline : design.runs()) {
  if (!all_)
    draw();
  else
    design.paired ? take_all_flips() : take_all_choices();
}

std::uint8_t* Labellings::add() {
  marks_.resize(++count_ * width_);
  return marks_.data() + (count_ - 1) * width_;
}

// Adds all choices of the candidate's runs. It starts with the observed choice, the last runs, and
// adds the others in byte order. If labellings have mirrors, the first run stays in the baseline.
void Labellings::take_all_choices() {
  std::vector<bool> marks(width_);  // GCC 12 warns about bytes where this is inlined on arm64
  std::fill(marks.begin() + static_cast<std::ptrdiff_t>(design_.baseline), marks.end(), true);
  const auto first = marks.begin() + (has_mirror(design_) && width_ > 0 ? 1 : 0);
  do std::copy(marks.begin(), marks.end(), add());
  while (std::next_permutation(first, marks.end()));
}

// Adds all flips of pairs. The first pair stays as it is: exchanging all pairs changes no
// statistic.
void Labellings::take_all_flips() {
  const std::size_t free = width_ > 0 ? width_ - 1 : 0;
  for (std::uint64_t flips = 0; flips < std::uint64_t{1} << free; ++flips) {
    std::uint8_t* marks = add();
    for (std::size_t pair = 0; pair < free; ++pair) marks[pair + 1] = (flips >> pair) & 1;
  }
}

void Labellings::draw() {
  Dice dice(kSeedOfLabellings);
  marks_.reserve(kDrawnLabellings * width_);
  std::vector<std::uint8_t> marks(width_);
  if (!design_.paired)
    std::fill(marks.begin() + static_cast<std::ptrdiff_t>(design_.baseline), marks.end(), 1);
  while (count_ < kDrawnLabellings) {
    std::ranges::copy(marks, add());
    for (std::size_t left = width_; left > 0; --left)
      if (design_.paired)
        marks[left - 1] = static_cast<std::uint8_t>(dice.below(2));
      else
        std::swap(marks[left - 1], marks[dice.below(left)]);
  }
}

}  // namespace ctprof::statistics
