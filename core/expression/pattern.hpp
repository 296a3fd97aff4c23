// A regular expression in RE2's syntax: what Perl and Python share, without back-references and
// lookahead. Matching takes time bounded by the length of the name, so no pattern can hang.
//
// It matches anywhere in a name, unless ^ and $ say otherwise. Names are bytes. Threads: any number
// may match at the same time.

#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.hpp"

namespace re2 {
class RE2;
}

namespace ctprof {

class Pattern {
 public:
  // The error is just the cause: "a '[' has no ']'".
  static Result<Pattern> parse(std::string_view text);

  bool matches(std::string_view name) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace ctprof
