// Finds columns by the role of their metric (ctprof/newtypes.hpp).

#pragma once

#include <deque>
#include <string_view>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Returns the first column with that role and storage, or null. A file may give a role to any
// metric, so columns with another storage are ignored.
const Column* find_role(const std::deque<Column>& columns, std::string_view role,
                        Storage storage = Storage::U64);

}  // namespace ctprof
