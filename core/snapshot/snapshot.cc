#include "core/snapshot/snapshot.hpp"

#include <algorithm>
#include <utility>

namespace ctprof {

const Column* Table::find(std::string_view metric) const {
  const auto it = std::find_if(columns.begin(), columns.end(),
                               [&](const Column& c) { return c.def().name == metric; });
  return it == columns.end() ? nullptr : &*it;
}

Column* Table::find(std::string_view metric) {
  return const_cast<Column*>(std::as_const(*this).find(metric));
}

Column& Table::add(SharedMetric def, Gap initial) {
  return columns.emplace_back(std::move(def), rows, initial);
}

void Table::keep(std::span<const std::uint32_t> kept) {
  if (kept.size() == rows) return;
  const std::vector<RowRun> runs = runs_of(kept);
  for (Column& column : columns) {
    std::size_t to = 0;
    for (const RowRun& run : runs) {
      if (to != run.first) column.move_rows(to, run.first, run.count);
      to += run.count;
    }
    column.resize(to, Gap::Untouched);
  }
  rows = kept.size();
}

const Column* Opening::find(std::string_view metric) const {
  const auto it = std::find_if(columns.begin(), columns.end(),
                               [&](const Column& c) { return c.def().name == metric; });
  return it == columns.end() ? nullptr : &*it;
}

}  // namespace ctprof
