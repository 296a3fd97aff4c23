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

// Reads the set after a `[` and removes it from the glob; false if it does not end.
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
    ByteSet set{one(c)};
    if (c == '*') {
      const bool crosses = rest.starts_with('*');
      while (rest.starts_with('*')) rest.remove_prefix(1);
      set = {crosses ? Bytes().set() : any_but_slash(), true};
    } else if (c == '?') {
      set = {any_but_slash()};
    } else if (c == '[') {
      set = {};
      if (!take_set(rest, set.bytes)) return refusal(text, "a '[' has no ']'");
    } else if (c == '\\') {
      if (rest.empty()) return refusal(text, "nothing follows the last '\\'");
      set = {one(rest.front())};
      rest.remove_prefix(1);
    }
    glob.sets_.push_back(set);
  }
  return glob;
}

// Follows all positions in the glob that the path so far can have reached, at once. So the time is
// bounded by the lengths of both.
bool PathGlob::matches(std::string_view path) const {
  std::vector<bool> at(sets_.size() + 1), next;
  const auto skip_repeated = [&](std::vector<bool>& reached) {
    for (std::size_t i = 0; i < sets_.size(); ++i)
      if (reached[i] && sets_[i].repeated) reached[i + 1] = true;
  };
  at[0] = true;
  skip_repeated(at);
  for (const char c : path) {
    next.assign(at.size(), false);
    for (std::size_t i = 0; i < sets_.size(); ++i)
      if (at[i] && sets_[i].bytes.test(index(c))) next[sets_[i].repeated ? i : i + 1] = true;
    skip_repeated(next);
    at.swap(next);
  }
  return at.back();
}

}  // namespace ctprof
