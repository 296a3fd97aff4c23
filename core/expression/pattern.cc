// A pattern may not grow beyond so many states, however its counts multiply: each costs time on every character, and stack.
#define _GLIBCXX_REGEX_STATE_LIMIT 5000

#include "core/expression/pattern.hpp"

namespace ctprof {
namespace {

// Longer than anyone writes; the library's parser takes stack for each character.
constexpr std::size_t kMostPattern = 512;

// No submatches are asked for, and states are followed side by side rather than tried one after the other.
constexpr auto kHow = std::regex::ECMAScript | std::regex::nosubs | std::regex_constants::__polynomial;

struct Cause {
  std::regex_constants::error_type code;
  const char* words;
};
const Cause kCauses[] = {{std::regex_constants::error_collate, "no such collating element"},
                         {std::regex_constants::error_ctype, "no such class of characters"},
                         {std::regex_constants::error_escape, "a backslash before what needs none"},
                         {std::regex_constants::error_backref, "back-references are not supported"},
                         {std::regex_constants::error_brack, "a '[' has no ']'"},
                         {std::regex_constants::error_paren, "a parenthesis has no other, or a repetition repeats nothing"},
                         {std::regex_constants::error_brace, "a '{' has no '}'"},
                         {std::regex_constants::error_badbrace, "a count in braces makes no sense"},
                         {std::regex_constants::error_range, "a range of characters makes no sense"},
                         {std::regex_constants::error_space, "it is too large"},
                         {std::regex_constants::error_badrepeat, "there is nothing to repeat"},
                         {std::regex_constants::error_complexity, "back-references are not supported"}};

std::string cause_of(const std::regex_error& error) {
  for (const Cause& cause : kCauses)
    if (cause.code == error.code()) return cause.words;
  return "it makes no sense";
}

// Whether "(?=" or "(?!" stands where it is no plain text.
bool looks_ahead(std::string_view text) {
  bool in_brackets = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (in_brackets || text[i] == '[')
      in_brackets = text[i] != ']';
    else if (const auto next = text.substr(i, 3); next == "(?=" || next == "(?!")
      return true;
  }
  return false;
}

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text) {
  if (text.size() > kMostPattern) return Error{"it is too long"};
  if (looks_ahead(text)) return Error{"lookahead is not supported"};
  try {
    const std::regex alone(text.begin(), text.end(), kHow);
    // One walk over the name; to search would start one at each of its characters.
    return Pattern(std::regex("[\\s\\S]*(?:" + std::string(text) + ")[\\s\\S]*", kHow));
  } catch (const std::regex_error& error) {
    return Error{cause_of(error)};
  }
}

bool Pattern::matches(std::string_view name) const {
  const auto [known, is_new] = known_.try_emplace(std::string(name), false);
  if (is_new) known->second = std::regex_match(name.begin(), name.end(), whole_);
  return known->second;
}

}  // namespace ctprof
