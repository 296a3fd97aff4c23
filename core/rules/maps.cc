// Rules for maps, reduced key by key. Counters are added; MapMixed takes the maximum for the keys
// that the metric declares as gauges. A key that only some rows have is reduced over those rows.

#include "core/rules/maps.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/number.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof::rules {
namespace {

constexpr std::string_view kBlank = " \t\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

// Splits the text at the first of `separators`.
std::pair<std::string_view, std::string_view> split_at_first(std::string_view text,
                                                             std::string_view separators) {
  const auto at = text.find_first_of(separators);
  if (at == text.npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool matches(std::string_view pattern, std::string_view key) {
  if (pattern.ends_with('*')) return key.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == key;
}

bool lists_key(std::string_view patterns, std::string_view key) {
  while (!(patterns = trimmed(patterns)).empty()) {
    const auto [pattern, rest] = split_at_first(patterns, kBlank);
    if (matches(pattern, key)) return true;
    patterns = rest;
  }
  return false;
}

}  // namespace

KeyKind find_key_kind(std::string_view map_keys, std::string_view key) {
  while (!map_keys.empty()) {
    const auto [clause, rest] = split_at_first(map_keys, ";");
    const auto [head, patterns] = split_at_first(clause, ":");
    const auto [family, unit] = split_at_first(trimmed(head), kBlank);
    if (lists_key(patterns, key)) return {family == "gauge", trimmed(unit)};
    map_keys = rest;
  }
  return {};
}

namespace {

struct Entry {
  ctprof_text key;
  std::uint64_t value;
  KeyKind kind;
};

// Sorted by key. Keys, and the units of kinds, are valid as long as the snapshot.
using Entries = std::vector<Entry>;

struct Map {
  Entries* entries;  // null: no reading yet
};

void combine(Entry& entry, std::uint64_t value) {
  if (entry.kind.is_gauge) return void(entry.value = std::max(entry.value, value));
  if (__builtin_add_overflow(entry.value, value, &entry.value))
    entry.value = std::numeric_limits<std::uint64_t>::max();
}

// Adds one entry at or after position `at`, and returns the first possible position of the next key
// in order.
template <class MakeKind>
std::size_t include_entry(Entries& entries, std::size_t at, ctprof_text key, std::uint64_t value,
                          MakeKind make_kind) {
  while (at < entries.size() && view(entries[at].key) < view(key)) ++at;
  const bool exists = at < entries.size() && view(entries[at].key) == view(key);
  if (exists)
    combine(entries[at], value);
  else
    entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(at),
                   Entry{key, value, make_kind(key)});
  return at + 1;
}

template <class MakeKind>
void add_maps(void* states, const ctprof_rows& rows, MakeKind make_kind) {
  for_each_reading<Map, std::uint32_t>(states, rows, [&](Map& map, std::uint32_t id) {
    std::size_t count = 0;
    const ctprof_entry* row_entries = rows.map(rows.core, id, &count);
    if (!map.entries) map.entries = new Entries;
    if (map.entries->empty()) map.entries->reserve(count);
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i)
      at = include_entry(*map.entries, at, row_entries[i].key, row_entries[i].value, make_kind);
  });
}

void add_map_sum(void* states, const ctprof_rows* rows) {
  add_maps(states, *rows, [&](ctprof_text key) {
    return KeyKind{
        false, rows->map_keys ? find_key_kind(rows->map_keys, view(key)).unit : std::string_view{}};
  });
}

void add_map_mixed(void* states, const ctprof_rows* rows) {
  add_maps(states, *rows, [&](ctprof_text key) {
    return rows->map_keys ? find_key_kind(rows->map_keys, view(key)) : KeyKind{};
  });
}

const Map& map_in(const void* state) { return *static_cast<const Map*>(state); }

std::span<const Entry> entries_in(const void* state) {
  const Entries* entries = map_in(state).entries;
  return entries ? std::span<const Entry>(*entries) : std::span<const Entry>();
}

void merge_map(void* into, const void* from) {
  if (!map_in(from).entries) return;
  auto& map = *static_cast<Map*>(into);
  if (!map.entries) map.entries = new Entries;
  std::size_t at = 0;
  for (const Entry& entry : entries_in(from))
    at = include_entry(*map.entries, at, entry.key, entry.value,
                       [&](ctprof_text) { return entry.kind; });
}

void destroy_map(void* state) { delete map_in(state).entries; }

bool same_entry(const Entry& a, const Entry& b) {
  return view(a.key) == view(b.key) && a.value == b.value;
}

ctprof_number map_delta(const void* baseline, const void* candidate, const ctprof_sink* out) {
  if (!map_in(baseline).entries || !map_in(candidate).entries) return no_number();
  const auto a = entries_in(baseline), b = entries_in(candidate);
  put(*out, std::equal(a.begin(), a.end(), b.begin(), b.end(), same_entry) ? kSame : kDiffers);
  return no_number();
}

void map_text(const void* state, const char* unit, const ctprof_sink* out) {
  if (!map_in(state).entries) return put(*out, "-");
  bool first = true;
  for (const Entry& entry : entries_in(state)) {
    if (!first) put(*out, "\n");
    first = false;
    put(*out, view(entry.key));
    put(*out,
        " " + format_scaled(make_number(entry.value),
                            entry.kind.unit.empty() ? std::string_view(unit) : entry.kind.unit));
  }
}

void map_json(const void* state, const ctprof_sink* out) {
  if (!map_in(state).entries) return put(*out, "null");
  JsonWriter object(Escape::Unprintable);
  object.put('{');
  for (const Entry& entry : entries_in(state)) object.member(view(entry.key), entry.value);
  object.close('}');
  put(*out, object.view());
}

void map_parts(const void* state, const ctprof_parts* out) {
  for (const Entry& entry : entries_in(state))
    out->put(out->core, entry.key, make_number(entry.value), text_of(entry.kind.unit));
}

constexpr ctprof_rule map_rule(const char* name, const char* newtypes, const char* description,
                               decltype(ctprof_rule::add) add) {
  ctprof_rule rule =
      make_rule<Map>(name, newtypes, description, CTPROF_REDUCES_BY_KEY, add, merge_map);
  rule.destroy = destroy_map;
  rule.delta = map_delta;
  rule.text = map_text;
  rule.json = map_json;
  rule.parts = map_parts;
  return rule;
}

constexpr ctprof_rule kMaps[] = {
    map_rule("MapSum", "CountMap,BytesMap,KibMap", "key by key, adds up", add_map_sum),
    map_rule("MapMixed", "MixedMap", "key by key: gauges take the largest, others add up",
             add_map_mixed),
};

}  // namespace

std::span<const ctprof_rule> maps() { return kMaps; }

}  // namespace ctprof::rules
