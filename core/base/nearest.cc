#include "core/base/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ctprof {
namespace {

// How many letters must be put in, taken out or changed to make `b` of `a`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_hint(std::string_view word, std::span<const std::string> names) {
  const auto nearest =
      std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) {
        return std::pair(distance(word, a), std::string_view(a)) <
               std::pair(distance(word, b), std::string_view(b));
      });
  if (nearest == names.end()) return {};
  const bool is_near = distance(word, *nearest) <= std::max<std::size_t>(2, word.size() / 3) ||
                       nearest->starts_with(word);
  if (!is_near) return {};
  return " (did you mean '" + *nearest + "'?)";
}

}  // namespace ctprof
