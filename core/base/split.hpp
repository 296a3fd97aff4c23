// Lists in one text: "a,b,c".

#pragma once

#include <string_view>
#include <vector>

#include "ctprof/files.hpp"

namespace ctprof {

// The entries between the commas, as they stand: one more than there are commas, so an empty text
// is one empty entry.
inline std::vector<std::string_view> split(std::string_view list, char mark = ',') {
  std::vector<std::string_view> entries;
  for (bool more = true; more;) {
    more = list.find(mark) != list.npos;
    entries.push_back(sdk::take(list, mark));
  }
  return entries;
}

}  // namespace ctprof
