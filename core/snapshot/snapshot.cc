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

const Column* Opening::find(std::string_view metric) const {
  const auto it = std::find_if(columns.begin(), columns.end(),
                               [&](const Column& c) { return c.def().name == metric; });
  return it == columns.end() ? nullptr : &*it;
}

}  // namespace ctprof
