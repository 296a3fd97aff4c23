#include "core/rules/map_keys.hpp"

#include <utility>

namespace ctprof::rules {
namespace {

constexpr std::string_view kBlank = " \t\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

// What stands before the first `mark`, and what stands behind it.
std::pair<std::string_view, std::string_view> split(std::string_view text, std::string_view marks) {
  const auto at = text.find_first_of(marks);
  if (at == text.npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool matches(std::string_view pattern, std::string_view key) {
  if (pattern.ends_with('*')) return key.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == key;
}

bool names(std::string_view patterns, std::string_view key) {
  while (!(patterns = trimmed(patterns)).empty()) {
    const auto [pattern, rest] = split(patterns, kBlank);
    if (matches(pattern, key)) return true;
    patterns = rest;
  }
  return false;
}

}  // namespace

KeyKind kind_of_key(std::string_view map_keys, std::string_view key) {
  while (!map_keys.empty()) {
    const auto [clause, rest] = split(map_keys, ";");
    const auto [head, patterns] = split(clause, ":");
    const auto [family, unit] = split(trimmed(head), kBlank);
    if (names(patterns, key)) return {family == "gauge", trimmed(unit)};
    map_keys = rest;
  }
  return {};
}

}  // namespace ctprof::rules
