#include "core/compare/request/spec.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/text.hpp"
#include "core/expression/expression_parser.hpp"

namespace ctprof {
namespace {

struct GroupWord {
  std::string_view word;
  GroupBy by;
};
// The axes. To add one, add a line here and in row_grouper.cc.
constexpr GroupWord kGroupWords[] = {
    {"pcomm", GroupBy::Pcomm},          {"cgroup", GroupBy::Cgroup}, {"comm", GroupBy::Comm},
    {"comm-exact", GroupBy::CommExact}, {"all", GroupBy::All},       {"pid", GroupBy::Pid},
    {"service", GroupBy::Service},      {"tree", GroupBy::Tree}};

struct SortWord {
  std::string_view word;
  SortKey::Criterion by;
  bool ascending;      // the default direction
  bool compares_only;  // needs two sides
};
constexpr SortWord kSortWords[] = {{"movers", SortKey::Criterion::Movers, false, true},
                                   {"delta", SortKey::Criterion::Delta, false, true},
                                   {kMovedColumn, SortKey::Criterion::Movers, false, true},
                                   {"pct", SortKey::Criterion::Percent, false, true},
                                   {"name", SortKey::Criterion::Name, true, false}};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string to_lower(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

Error refusal(std::string_view option, std::string_view text, const std::string& cause) {
  return error("reading --" + std::string(option), text, cause);
}

Result<bool> parse_direction(std::string_view word, std::string_view text) {
  if (to_lower(word) == "asc") return true;
  if (to_lower(word) == "desc") return false;
  return refusal("sort-by", text,
                 "the direction '" + std::string(word) + "' is neither asc nor desc");
}

Result<SortKey> parse_key(std::string_view entry, std::string_view text, ReportKind kind) {
  const auto colon = find_outside_keys(entry, ':');
  std::string_view word = trimmed(entry.substr(0, colon));
  const bool is_reversed = word.starts_with('-');
  word = trimmed(word.substr(is_reversed ? 1 : 0));
  if (word.empty()) return refusal("sort-by", text, "an entry is empty");
  const auto match = std::find_if(std::begin(kSortWords), std::end(kSortWords),
                                  [&](const SortWord& w) { return w.word == word; });
  SortKey key{SortKey::Criterion::Metric, normalize_name(word), false};
  if (match != std::end(kSortWords)) {
    if (match->compares_only && kind == ReportKind::Show)
      return refusal(
          "sort-by", text,
          "'" + std::string(word) + "' needs two files; show sorts by name or by a metric");
    key = {match->by, std::string(word == kMovedColumn ? word : ""), match->ascending};
  }
  if (colon != entry.npos) {
    CTPROF_TRY_VALUE(const auto ascending, parse_direction(trimmed(entry.substr(colon + 1)), text));
    key.ascending = ascending;
  }
  key.ascending = key.ascending != is_reversed;
  return key;
}

bool same_key(const SortKey& a, const SortKey& b) { return a.by == b.by && a.metric == b.metric; }

}  // namespace

std::string_view axis_word(const Spec& spec) {
  const auto it = std::find_if(std::begin(kGroupWords), std::end(kGroupWords),
                               [&](const GroupWord& w) { return w.by == spec.group_by; });
  return it == std::end(kGroupWords) ? std::string_view(spec.group_metric) : it->word;
}

std::string group_column(const Spec& spec) {
  if (spec.group_by == GroupBy::Pcomm) return "process";
  if (spec.group_by == GroupBy::All) return "cgroup > process > thread";
  return std::string(axis_word(spec));
}

bool is_group_column_name(std::string_view word, const Spec& spec) {
  return word == group_column(spec) || word == axis_word(spec);
}

std::vector<std::string> axis_words() {
  std::vector<std::string> words;
  for (const GroupWord& match : kGroupWords) words.emplace_back(match.word);
  return words;
}

Result<GroupBy> parse_group_by(std::string_view word) {
  for (const GroupWord& match : kGroupWords)
    if (match.word == word) return match.by;
  if (word.find_first_of("._") != word.npos) return GroupBy::ProcessText;
  const auto words = axis_words();
  std::string list;
  for (const std::string& match : words) list += (list.empty() ? "" : ", ") + match;
  return refusal("group-by", word,
                 "it is neither one of " + list + ", nor a text metric of a process" +
                     suggest_nearest(word, words));
}

Result<void> select_entity(Spec& spec, std::string_view name) {
  Entity builtin{};
  if (parse(name, builtin))
    return refusal("entity", name,
                   builtin == Entity::Cgroup ? "use --group-by cgroup"
                                             : "its rows are shown without --entity");
  const auto entity = find_or_add_plugin_entity(name);
  if (!entity) return refusal("entity", name, "no plugin can have an entity of that name");
  spec.group_by = GroupBy::Entity;
  spec.group_metric = name;
  spec.entity = *entity;
  return {};
}

Result<std::vector<SortKey>> parse_sort(std::string_view text, ReportKind kind) {
  std::vector<SortKey> keys;
  for (const std::string_view entry : split_names(text)) {
    CTPROF_TRY_VALUE(auto key, parse_key(trimmed(entry), text, kind));
    if (std::any_of(keys.begin(), keys.end(),
                    [&](const SortKey& other) { return same_key(other, key); }))
      return refusal("sort-by", text,
                     "'" + std::string(trimmed(entry.substr(0, find_outside_keys(entry, ':')))) +
                         "' is repeated");
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> sort_words(ReportKind kind) {
  std::vector<std::string> words;
  for (const SortWord& match : kSortWords)
    if (kind == ReportKind::Compare || !match.compares_only) words.emplace_back(match.word);
  return words;
}

Result<std::vector<std::string>> parse_names(std::string_view text, std::string_view option) {
  std::vector<std::string> names;
  for (const std::string_view untrimmed : split_names(text)) {
    const std::string entry = normalize_name(trimmed(untrimmed));
    if (entry.empty()) return refusal(option, text, "an entry is empty");
    if (std::find(names.begin(), names.end(), entry) != names.end())
      return refusal(option, text, "'" + entry + "' is repeated");
    names.push_back(entry);
  }
  return names;
}

Result<std::vector<std::string>> parse_sections(std::string_view text) {
  return parse_names(to_lower(text), "sections");
}

const SectionInfo* find_section(std::string_view name) {
  const auto it = std::find_if(std::begin(kSections), std::end(kSections),
                               [&](const SectionInfo& s) { return s.name == name; });
  return it == std::end(kSections) ? nullptr : it;
}

std::tuple<std::size_t, std::string_view> section_sort_key(std::string_view name) {
  const SectionInfo* match = find_section(name);
  return {match ? static_cast<std::size_t>(match - kSections) : std::size(kSections),
          match ? std::string_view{} : name};
}

std::vector<std::string> describe_misplaced_sections(const Spec& spec) {
  std::vector<std::string> sentences;
  for (const std::string& section : spec.sections) {
    const SectionInfo* match = find_section(section);
    if (match && match->needs_cgroups && spec.group_by != GroupBy::Cgroup)
      sentences.push_back("section '" + section +
                          "' requires --group-by cgroup; omitted under --group-by " +
                          std::string(axis_word(spec)));
  }
  return sentences;
}

std::vector<SideRuns> divide_into_sides(const Spec& spec, std::size_t runs) {
  if (spec.side_sizes.empty()) {
    std::vector<SideRuns> sides(runs);
    for (std::size_t run = 0; run < runs; ++run) sides[run].first = run;
    return sides;
  }
  std::vector<SideRuns> sides;
  std::size_t first = 0;
  for (const std::size_t count : spec.side_sizes) {
    sides.push_back({first, count});
    first += count;
  }
  return sides;
}

}  // namespace ctprof
