#include "core/file/columns/gap_pattern.hpp"

#include <algorithm>

#include "core/file/layout/limits.hpp"
#include "core/snapshot/column.hpp"

namespace ctprof::columns {
namespace {

ctprof_gap gap_from_code(std::uint64_t code) {
  const bool is_known = code != CTPROF_VALUE && code < kGapNames.size();
  return static_cast<ctprof_gap>(is_known ? code : std::uint64_t{CTPROF_MALFORMED});
}

}  // namespace

std::string_view GapPattern::replace_nulls(std::span<ctprof_gap> cells) const {
  const bool is_one_run = runs.size() == 2 && runs[1] == cells.size();
  if (is_one_run && std::ranges::count(cells, CTPROF_VALUE) == 0) {
    std::ranges::fill(cells, gap_from_code(runs[0]));
    return {};
  }
  std::size_t at = 0;
  std::uint64_t left = 0;
  ctprof_gap gap{};
  for (ctprof_gap& cell : cells) {
    if (cell == CTPROF_VALUE) continue;
    if (left == 0) {
      if (at + 1 >= runs.size()) return "fewer than its nulls";
      gap = gap_from_code(runs[at]);
      left = runs[at + 1];
      at += 2;
    }
    --left;
    cell = gap;
  }
  return left == 0 && at == runs.size() ? std::string_view() : "more than its nulls";
}

GapPattern read_gap_pattern(Scanner& in, std::size_t rows) {
  GapPattern pattern;
  const auto add_column = [&] {
    if (pattern.columns.size() == limits::kColumns) return in.fail("too many columns");
    pattern.columns.emplace_back(in.text());
  };
  const auto add_number = [&] {
    pattern.runs.push_back(in.number());
    if (pattern.runs.size() % 2 == 0 && pattern.runs.back() == 0) in.fail("a run has zero rows");
    if (pattern.runs.size() > 2 * rows) in.fail("more runs than rows");
  };
  for (in.enter('{'); in.next('}');) {
    const std::string_view key = in.key();
    if (key == "columns")
      for (in.enter('['); in.next(']');) add_column();
    else if (key == "runs")
      for (in.enter('['); in.next(']');) add_number();
    else
      in.skip();
  }
  return pattern;
}

}  // namespace ctprof::columns
