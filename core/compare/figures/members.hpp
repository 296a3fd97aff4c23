// Which rows a group has, for what asks a group's rows one by one.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ctprof {

class Members {
 public:
  // `of_row` is the group of each row; kNoGroup is none.
  Members(std::span<const std::uint32_t> of_row, std::size_t groups);

  // In ascending order.
  std::span<const std::uint32_t> of(std::uint32_t group) const {
    return std::span(rows_).subspan(starts_[group], starts_[group + 1] - starts_[group]);
  }

 private:
  std::vector<std::uint32_t> rows_;    // group after group
  std::vector<std::uint32_t> starts_;  // of each group in rows_, and the end
};

}  // namespace ctprof
