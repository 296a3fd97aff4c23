#include "core/compare/figures/members.hpp"

#include "core/compare/grouping/grouping.hpp"

namespace ctprof {

Members::Members(std::span<const std::uint32_t> of_row, std::size_t groups) : starts_(groups + 1) {
  for (const std::uint32_t group : of_row)
    if (group != kNoGroup) ++starts_[group + 1];
  for (std::size_t group = 0; group < groups; ++group) starts_[group + 1] += starts_[group];
  rows_.resize(starts_.back());
  std::vector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
  for (std::uint32_t row = 0; row < of_row.size(); ++row)
    if (of_row[row] != kNoGroup) rows_[next[of_row[row]]++] = row;
}

}  // namespace ctprof
