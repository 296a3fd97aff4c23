// A regular expression, as ECMAScript writes them but without back-references and lookahead: so the time that a name takes is bounded by
// its length times the pattern's, and no pattern hangs.
//
// It is found anywhere in a name unless ^ and $ say otherwise. Names are bytes.

#pragma once

#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.hpp"

namespace ctprof {

class Pattern {
 public:
  // The error is the cause alone: "a '[' has no ']'".
  static Result<Pattern> parse(std::string_view text);

  // Remembers what it has been asked, for names repeat. Threads: one at a time.
  bool matches(std::string_view name) const;

 private:
  explicit Pattern(std::regex whole) : whole_(std::move(whole)) {}
  std::regex whole_;
  mutable std::unordered_map<std::string, bool> known_;
};

}  // namespace ctprof
