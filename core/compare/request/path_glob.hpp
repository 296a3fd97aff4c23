// Globs over cgroup paths: `*` and `?` stay within one segment, `**` crosses slashes, `[...]` and
// `[!...]` are sets, and `\` makes the next character literal. A glob must match the whole path.
//
// A glob is compiled to a regular expression, which RE2 matches in linear time.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace re2 {
class RE2;
}

namespace ctprof {

class PathGlob {
 public:
  // The error quotes the glob and states the cause.
  static Result<PathGlob> parse(std::string_view text);

  bool matches(std::string_view path) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace ctprof
