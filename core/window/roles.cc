#include "core/window/roles.hpp"

#include <algorithm>

namespace ctprof {

const Column* find_role(const std::deque<Column>& columns, std::string_view role, Storage storage) {
  const auto it = std::ranges::find_if(columns, [&](const Column& column) {
    return column.def().role == role && column.def().storage == storage;
  });
  return it == columns.end() ? nullptr : &*it;
}

}  // namespace ctprof
