#include "core/window/recorded_values.hpp"

#include <numeric>
#include <vector>

#include "core/window/differences.hpp"
#include "core/window/match_rows.hpp"

namespace ctprof {
namespace {

// Adds the sets of `more` to those of `column`, row by row. Returns the sets without a row.
std::vector<ctprof_stack> add_sets(Column& column, StackPool& pool, const Column& more,
                                   const StackPool& pool_of_more,
                                   std::span<const std::uint32_t> rows) {
  std::vector<ctprof_stack> without_row, stacks;
  for (std::uint32_t from = 0; from < rows.size(); ++from) {
    if (!more.has_value(from)) continue;
    const std::uint32_t row = rows[from];
    stacks.clear();
    pool.add_set_to(pool_of_more, more.ids()[from], row == kNoRow ? without_row : stacks);
    if (row == kNoRow) continue;
    if (column.has_value(row)) pool.add_set_to(pool, column.ids()[row], stacks);
    column.ids()[row] = pool.append(stacks);
    column.gaps()[row] = CTPROF_VALUE;
  }
  return without_row;
}

// Adds the numbers of `more` to those of `column`, row by row. Returns the sum of the counters of
// threads without a row.
std::uint64_t add_numbers(Column& column, const Column& more, std::span<const std::uint32_t> rows) {
  std::uint64_t without_row = 0;
  for (std::uint32_t from = 0; from < rows.size(); ++from) {
    if (!more.has_value(from)) continue;
    const std::uint64_t number = more.u64()[from];
    if (rows[from] != kNoRow)
      combine_number(column, rows[from], number);
    else if (counts_up(more.def()))
      without_row += number;
  }
  return without_row;
}

// Adds the arrays of `more` to those of `column`, row by row. Returns the sum of all elements of
// threads without a row.
std::uint64_t add_arrays(Column& column, WordsPool& pool, const Column& more,
                         const WordsPool& pool_of_more, std::span<const std::uint32_t> rows) {
  std::uint64_t without_row = 0;
  for (std::uint32_t from = 0; from < rows.size(); ++from) {
    if (!more.has_value(from)) continue;
    const auto elements = pool_of_more[more.ids()[from]];
    if (rows[from] != kNoRow)
      add_array(column, rows[from], elements, pool);
    else
      without_row = std::accumulate(elements.begin(), elements.end(), without_row);
  }
  return without_row;
}

}  // namespace

std::uint64_t add_recorded_values(Column& column, Pools& pools, const Column& more,
                                  const Pools& pools_of_more, std::span<const std::uint32_t> rows) {
  switch (more.def().storage) {
    case Storage::Stacks:
      return total_weight(add_sets(column, pools.stacks, more, pools_of_more.stacks, rows));
    case Storage::Array: return add_arrays(column, pools.words, more, pools_of_more.words, rows);
    default: return add_numbers(column, more, rows);
  }
}

std::string describe_values_without_row(std::uint64_t total, const MetricDef& def) {
  const std::string_view unit =
      def.storage == Storage::Array ? "values" : std::string_view(def.unit);
  return std::to_string(total) + " " + std::string(unit) + " of " + def.name +
         " belong to threads without a row";
}

}  // namespace ctprof
