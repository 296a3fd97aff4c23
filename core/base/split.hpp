// Lists in one text, "a,b,c": taken apart and joined.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"

namespace ctprof {

// The entries between the marks, unchanged: one more than there are marks, so an empty text is one
// empty entry.
inline std::vector<std::string_view> split(std::string_view list, char mark = ',') {
  std::vector<std::string_view> entries;
  for (bool more = true; more;) {
    more = list.find(mark) != list.npos;
    entries.push_back(sdk::take(list, mark));
  }
  return entries;
}

// The entries in one text: "a, b, c", or with another text between. `Texts` is any range of what
// converts to string_view.
template <class Texts>
std::string joined(const Texts& texts, std::string_view between = ", ") {
  std::string list;
  bool first = true;
  for (const std::string_view text : texts) {
    if (!first) list += between;
    list += text;
    first = false;
  }
  return list;
}

}  // namespace ctprof
