#include "core/compare/asked/path_glob.hpp"

#include <cstddef>

namespace ctprof {
namespace {

using Bytes = std::bitset<256>;

std::size_t index(char c) { return static_cast<unsigned char>(c); }

Bytes one(char c) { return Bytes().set(index(c)); }

Bytes any_but_slash() { return ~one('/'); }

Error refusal(std::string_view text, const char* cause) {
  return error("reading --cgroup-flatten", text, cause);
}

// Takes the set behind a `[` off the glob; false when it has no end.
bool take_set(std::string_view& rest, Bytes& bytes) {
  const bool negated = rest.starts_with('!') || rest.starts_with('^');
  if (negated) rest.remove_prefix(1);
  const auto end = rest.find(']', 1);
  if (end == rest.npos) return false;
  const std::string_view set = rest.substr(0, end);
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool is_range = i + 2 < set.size() && set[i + 1] == '-';
    const std::size_t last = index(is_range ? set[i + 2] : set[i]);
    for (std::size_t c = index(set[i]); c <= last; ++c) bytes.set(c);
    if (is_range) i += 2;
  }
  if (negated) bytes.flip();
  bytes.reset('/');
  rest.remove_prefix(end + 1);
  return true;
}

}  // namespace

Result<PathGlob> PathGlob::parse(std::string_view text) {
  if (text.empty()) return refusal(text, "a glob cannot be empty");
  PathGlob glob;
  glob.text_ = text;
  for (std::string_view rest = text; !rest.empty();) {
    const char c = rest.front();
    rest.remove_prefix(1);
    Step step{one(c)};
    if (c == '*') {
      const bool crosses = rest.starts_with('*');
      while (rest.starts_with('*')) rest.remove_prefix(1);
      step = {crosses ? Bytes().set() : any_but_slash(), true};
    } else if (c == '?') {
      step = {any_but_slash()};
    } else if (c == '[') {
      step = {};
      if (!take_set(rest, step.bytes)) return refusal(text, "a '[' has no ']'");
    } else if (c == '\\') {
      if (rest.empty()) return refusal(text, "nothing follows the last '\\'");
      step = {one(rest.front())};
      rest.remove_prefix(1);
    }
    glob.steps_.push_back(step);
  }
  return glob;
}

// All places of the glob that the path so far may have come to are followed at once, so that no
// glob takes long.
bool PathGlob::matches(std::string_view path) const {
  std::vector<bool> at(steps_.size() + 1), next;
  const auto skip_repeated = [&](std::vector<bool>& places) {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (places[i] && steps_[i].repeated) places[i + 1] = true;
  };
  at[0] = true;
  skip_repeated(at);
  for (const char c : path) {
    next.assign(at.size(), false);
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (at[i] && steps_[i].bytes.test(index(c))) next[steps_[i].repeated ? i : i + 1] = true;
    skip_repeated(next);
    at.swap(next);
  }
  return at.back();
}

}  // namespace ctprof
