#include "core/expression/pattern.hpp"

#include <re2/re2.h>

#include <string>

namespace ctprof {
namespace {

// Longer than anyone writes.
constexpr std::size_t kMostPattern = 512;

const char* cause_of(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape:
      return "a backslash stands before what needs none; back-references are not supported";
    case re2::RE2::ErrorBadCharClass:
    case re2::RE2::ErrorBadCharRange: return "a range or class of characters makes no sense";
    case re2::RE2::ErrorMissingBracket: return "a '[' has no ']'";
    case re2::RE2::ErrorMissingParen:
    case re2::RE2::ErrorUnexpectedParen: return "a parenthesis has no other";
    case re2::RE2::ErrorTrailingBackslash: return "a backslash ends it";
    case re2::RE2::ErrorRepeatArgument: return "there is nothing to repeat";
    case re2::RE2::ErrorRepeatSize: return "a count in braces makes no sense, or is too large";
    case re2::RE2::ErrorRepeatOp: return "a repetition is repeated";
    case re2::RE2::ErrorBadPerlOp: return "what follows '(?' is not supported; lookahead is not";
    case re2::RE2::ErrorBadNamedCapture: return "the name of a group makes no sense";
    case re2::RE2::ErrorPatternTooLarge: return "it is too large";
    default: return "it makes no sense";
  }
}

re2::RE2::Options options() {
  re2::RE2::Options how(re2::RE2::Latin1);  // names may be no UTF-8
  how.set_log_errors(false);
  how.set_never_capture(true);
  how.set_dot_nl(true);
  return how;
}

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text) {
  if (text.size() > kMostPattern) return Error{"it is too long"};
  auto compiled = std::make_shared<re2::RE2>(re2::StringPiece(text.data(), text.size()), options());
  if (!compiled->ok()) return Error{cause_of(compiled->error_code())};
  return Pattern(std::move(compiled));
}

bool Pattern::matches(std::string_view name) const {
  return re2::RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *compiled_);
}

}  // namespace ctprof
