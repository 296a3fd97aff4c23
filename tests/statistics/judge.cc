// Tests a family that is read from standard input, for the oracle. The first line is "n m paired
// alpha"; each further line has the resolution and the values of one row, with "nan" for a gap.
// Prints one line for the design: the number of labellings used, whether these are all, the
// smallest p, and the number of runs that would be sufficient. Then prints one line for each row:
// shift, p, low, high, and p of the row without the family.

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "core/statistics/family.hpp"

namespace {

using namespace ctprof::statistics;

double parse_value(const std::string& word) { return std::stod(word); }

FamilyRows read_rows() {
  FamilyRows rows;
  std::string line, word;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    words >> word;
    rows.resolutions.push_back(parse_value(word));
    while (words >> word) rows.values.push_back(parse_value(word));
  }
  return rows;
}

}  // namespace

int main() {
  Design design;
  double alpha = 0;
  std::string line;
  std::getline(std::cin, line);
  std::istringstream(line) >> design.baseline >> design.candidate >> design.is_paired >> alpha;
  const Family family(design, read_rows());
  const auto sufficient_runs = compute_required_runs(alpha, design.is_paired);
  std::printf("%zu %d %.12g %zu\n", family.labellings().size(), family.labellings().are_all(),
              compute_smallest_p(design), sufficient_runs.value_or(0));
  for (std::size_t row = 0; row < family.rows(); ++row) {
    const Interval interval = family.compute_interval(row, alpha);
    std::printf("%.12g %.12g %.12g %.12g %.12g\n", family.get_shift(row), family.get_p(row),
                interval.low, interval.high, family.get_unadjusted_p(row));
  }
}
