// Globs over paths: `*` and `?` stay within one segment, `**` crosses them, `[a-z]` and `[!a-z]`
// are sets, and after `\` any character is itself. A glob must match the whole path.

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
  // Matches one byte of a set, or if `repeated` any number of them.
  struct ByteSet {
    std::bitset<256> bytes;
    bool repeated = false;
  };

  std::string text_;
  std::vector<ByteSet> sets_;
};

}  // namespace ctprof
