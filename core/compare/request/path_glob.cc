#include "core/compare/request/path_glob.hpp"

#include <re2/re2.h>

#include <bitset>
#include <cstddef>
#include <optional>

namespace ctprof {
namespace {

// Longer than any path; limits the size of the compiled expression.
constexpr std::size_t kMaxGlobLength = 4096;

Error refusal(std::string_view text, const char* cause) {
  return error("reading --cgroup-flatten", text, cause);
}

// Returns a regular expression that matches exactly this byte.
std::string escape_byte(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

using Bytes = std::bitset<256>;

// Parses the set after a `[` and removes it from `rest`. Returns no value if the `]` is missing.
std::optional<Bytes> parse_set(std::string_view& rest) {
  const bool negated = rest.starts_with('!') || rest.starts_with('^');
  if (negated) rest.remove_prefix(1);
  const auto end = rest.find(']', 1);
  if (end == rest.npos) return std::nullopt;
  const std::string_view set = rest.substr(0, end);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(set[i]); };
  Bytes bytes;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool is_range = i + 2 < set.size() && set[i + 1] == '-';
    for (std::size_t c = byte(i), last = byte(is_range ? i + 2 : i); c <= last; ++c) bytes.set(c);
    if (is_range) i += 2;
  }
  if (negated) bytes.flip();
  bytes.reset('/');
  rest.remove_prefix(end + 1);
  return bytes;
}

// Returns a character class of these bytes; for an empty set, a class that never matches.
std::string character_class(const Bytes& bytes) {
  if (bytes.none()) return "[^\\x00-\\xff]";
  std::string expression = "[";
  for (std::size_t c = 0; c < bytes.size(); ++c)
    if (bytes.test(c)) expression += escape_byte(static_cast<unsigned char>(c));
  return expression + "]";
}

re2::RE2::Options options() {
  re2::RE2::Options re2_options(re2::RE2::Latin1);  // paths are not always UTF-8
  re2_options.set_log_errors(false);
  re2_options.set_never_capture(true);
  return re2_options;
}

// Translates the next element of the glob: removes it from `rest` and appends it to `expression`.
Result<void> translate_piece(std::string_view text, std::string_view& rest,
                             std::string& expression) {
  const char c = rest.front();
  rest.remove_prefix(1);
  if (c == '*') {
    const bool crosses = rest.starts_with('*');
    while (rest.starts_with('*')) rest.remove_prefix(1);
    expression += crosses ? "(?s:.*)" : "[^/]*";
  } else if (c == '?') {
    expression += "[^/]";
  } else if (c == '[') {
    const auto set = parse_set(rest);
    if (!set) return refusal(text, "a '[' has no ']'");
    expression += character_class(*set);
  } else if (c == '\\') {
    if (rest.empty()) return refusal(text, "nothing follows the last '\\'");
    expression += escape_byte(static_cast<unsigned char>(rest.front()));
    rest.remove_prefix(1);
  } else {
    expression += escape_byte(static_cast<unsigned char>(c));
  }
  return {};
}

}  // namespace

Result<PathGlob> PathGlob::parse(std::string_view text) {
  if (text.empty()) return refusal(text, "a glob cannot be empty");
  if (text.size() > kMaxGlobLength)
    return refusal(text.substr(0, 60), "it is longer than any path");
  std::string expression;
  for (std::string_view rest = text; !rest.empty();)
    CTPROF_TRY(translate_piece(text, rest, expression));
  PathGlob glob;
  glob.text_ = text;
  glob.compiled_ = std::make_shared<const re2::RE2>(expression, options());
  if (!glob.compiled_->ok()) return refusal(text, "it is too large");
  return glob;
}

bool PathGlob::matches(std::string_view path) const {
  return re2::RE2::FullMatch(re2::StringPiece(path.data(), path.size()), *compiled_);
}

}  // namespace ctprof
