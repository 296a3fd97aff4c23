// Globs over paths: `*` and `?` stay within one segment, `**` crosses them, `[a-z]` and `[!a-z]`
// are sets, `\` takes the next character as it is. A glob matches the whole path or not at all.

#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

class PathGlob {
 public:
  // The error quotes the glob and says what is wrong with it.
  static Result<PathGlob> parse(std::string_view text);

  bool matches(std::string_view path) const;
  const std::string& text() const { return text_; }

 private:
  // One step of the glob: a set of bytes, taken once, or as often as there are some.
  struct Step {
    std::bitset<256> bytes;
    bool repeated = false;
  };

  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace ctprof
