#include "core/compare/grouping/key_families.hpp"

#include <algorithm>

#include "core/base/text.hpp"
#include "core/compare/grouping/name_tokens.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

using RandomPart = NameFamilies::RandomPart;
constexpr std::size_t kPlaceholderSize = 3;  // length of {U} and {H} in bytes

// The pattern of a name, and the parts of the name that became {U} (UUID) or {H} (hexadecimal).
// Names are shorter than 4 GiB.
struct NamePattern {
  std::string_view name;
  std::string pattern;
  std::vector<RandomPart> random_parts;

  void add_random(std::string_view text, std::string_view placeholder) {
    random_parts.push_back({static_cast<std::uint32_t>(text.data() - name.data()),
                            static_cast<std::uint32_t>(text.size()),
                            static_cast<std::uint32_t>(pattern.size())});
    pattern += placeholder;
  }
};

void add_token(NamePattern& shape, std::string_view token) {
  switch (classify_token(token)) {
    case TokenKind::Number: shape.pattern += "{N}"; break;
    case TokenKind::Hex: shape.add_random(token, "{H}"); break;
    case TokenKind::LettersNumber:
      shape.pattern.append(token.substr(0, prefix_length(token, is_letter))).append("{N}");
      break;
    case TokenKind::NumberLetters:
      shape.pattern.append("{N}").append(token.substr(prefix_length(token, is_digit)));
      break;
    case TokenKind::Other: shape.pattern += token; break;
  }
}

bool match_uuid(std::string_view& rest, NamePattern& shape) {
  const UuidMatch found = find_uuid(rest);
  if (found.size == 0) return false;
  shape.pattern += rest.substr(0, found.letters);
  shape.add_random(rest.substr(found.letters, found.size), "{U}");
  rest.remove_prefix(found.letters + found.size);
  return true;
}

NamePattern pattern_of(std::string_view name) {
  NamePattern shape{name, {}, {}};
  while (!name.empty()) {
    std::size_t size = separator_length(name);
    if (size > 0) {
      shape.pattern += name.substr(0, size);
    } else {
      if (match_uuid(name, shape)) continue;
      size = token_length(name);
      add_token(shape, name.substr(0, size));
    }
    name.remove_prefix(size);
  }
  return shape;
}

// Keeps only the random parts whose text is the same in the other name.
void keep_common(std::vector<RandomPart>& common, std::string_view name, const NamePattern& other) {
  std::erase_if(common, [&, next = other.random_parts.begin()](const RandomPart& piece) mutable {
    while (next != other.random_parts.end() && next->pattern_offset < piece.pattern_offset) ++next;
    return next == other.random_parts.end() || next->pattern_offset != piece.pattern_offset ||
           next->text_in(other.name) != piece.text_in(name);
  });
}

}  // namespace

std::uint32_t LiteralNames::add(std::string_view name) {
  return known_.try_emplace(std::string(name), static_cast<std::uint32_t>(known_.size()))
      .first->second;
}

std::vector<std::string> LiteralNames::keys() const {
  std::vector<std::string> keys(known_.size());
  for (const auto& [name, number] : known_) keys[number] = name;
  return keys;
}

std::uint32_t NameFamilies::add(std::string_view name) {
  NamePattern shape = pattern_of(name);
  const auto [place, is_new] =
      known_.try_emplace(std::move(shape.pattern), static_cast<std::uint32_t>(families_.size()));
  if (is_new)
    families_.push_back({&place->first, std::string(name), std::move(shape.random_parts), true});
  else if (Family& family = families_[place->second]; family.first_name != name)
    family.has_one_name = false, keep_common(family.common_parts, family.first_name, shape);
  return place->second;
}

std::string NameFamilies::key(const Family& family) {
  if (family.has_one_name) return family.first_name;
  std::string key;
  std::size_t from = 0;
  for (const RandomPart& piece : family.common_parts) {
    key.append(*family.pattern, from, piece.pattern_offset - from)
        .append(piece.text_in(family.first_name));
    from = piece.pattern_offset + kPlaceholderSize;
  }
  return key.append(*family.pattern, from);
}

std::vector<std::string> NameFamilies::keys() const {
  std::vector<std::string> keys;
  for (const Family& family : families_) keys.push_back(key(family));
  return keys;
}

std::vector<std::string> NameFamilies::patterns() const {
  std::vector<std::string> patterns;
  for (const Family& family : families_) patterns.push_back(*family.pattern);
  return patterns;
}

std::vector<std::string> name_patterns(std::span<const std::string> names) {
  NameFamilies families;
  std::vector<std::uint32_t> family_of_name;
  for (const std::string& name : names) family_of_name.push_back(families.add(name));
  const auto keys = families.keys();
  std::vector<std::string> found;
  for (const std::uint32_t family : family_of_name) found.push_back(keys[family]);
  return found;
}

namespace {

constexpr std::string_view kService = ".service";

std::string replace_instances(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const auto at = path.find('@');
    out += path.substr(0, at);
    if (at == path.npos) break;
    path.remove_prefix(at + 1);
    const std::string_view rest = path.substr(0, path.find('/'));
    const auto end = rest.find(kService);
    const std::string_view instance = rest.substr(0, end);
    out += '@';
    if (end == rest.npos || instance.empty() || instance.find_first_of("._-") != instance.npos)
      continue;
    out += "{I}";
    path.remove_prefix(instance.size());
  }
  return out;
}

}  // namespace

std::uint32_t CgroupFamilies::add(std::string_view path) {
  const auto glob = std::find_if(naming_.flatten_globs.begin(), naming_.flatten_globs.end(),
                                 [&](const PathGlob& g) { return g.matches(path); });
  if (glob != naming_.flatten_globs.end())
    return find_or_add({KeySource::Glob, glob->text()}, path);
  if (naming_.only_globs) return find_or_add({KeySource::Path, std::string(path)}, path);
  return find_or_add({KeySource::Pattern, std::to_string(names_.add(replace_instances(path)))},
                     path);
}

std::uint32_t CgroupFamilies::find_or_add(Identity identity, std::string_view path) {
  const auto [place, is_new] =
      known_.try_emplace(std::move(identity), static_cast<std::uint32_t>(families_.size()));
  if (is_new)
    families_.push_back({&place->first, std::string(path)});
  else if (Family& family = families_[place->second]; family.only_path && family.only_path != path)
    family.only_path.reset();
  return place->second;
}

std::vector<std::string> CgroupFamilies::keys() const {
  const auto patterns = names_.keys();
  std::vector<std::string> keys;
  // The path of each key.
  std::unordered_map<std::string, std::optional<std::string>, SeededHash> only_path_of_key;
  for (const Family& family : families_) {
    const auto& [origin, text] = *family.identity;
    keys.push_back(origin == KeySource::Pattern ? patterns[std::stoul(text)] : text);
    if (origin != KeySource::Pattern) continue;
    const auto [known_words, is_new] = only_path_of_key.try_emplace(keys.back(), family.only_path);
    if (!is_new && known_words->second != family.only_path) known_words->second.reset();
  }
  // A key with a single path is replaced by that path.
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (families_[i].identity->first == KeySource::Pattern)
      if (const auto& path = only_path_of_key.at(keys[i])) keys[i] = *path;
  return keys;
}

std::vector<std::string> CgroupFamilies::patterns() const {
  const auto name_patterns = names_.patterns();
  std::vector<std::string> patterns;
  for (const Family& family : families_) {
    const auto& [origin, text] = *family.identity;
    patterns.push_back(origin == KeySource::Pattern ? name_patterns[std::stoul(text)] : text);
  }
  return patterns;
}

std::vector<std::string> cgroup_keys(std::span<const std::string> paths,
                                     const CgroupNaming& naming) {
  CgroupFamilies families(naming);
  std::vector<std::uint32_t> family_of_path;
  for (const std::string& path : paths) family_of_path.push_back(families.add(path));
  const auto keys = families.keys();
  std::vector<std::string> found;
  for (const std::uint32_t family : family_of_path) found.push_back(keys[family]);
  return found;
}

namespace {

bool is_text(const Column& column) {
  return column.def().storage == Storage::String && !column.def().is_mark;
}

}  // namespace

std::span<const std::uint64_t> u64_values(const Table& table, std::string_view name) {
  const Column* column = table.find_u64(name);
  return column ? column->u64() : std::span<const std::uint64_t>{};
}

const Column* thread_column(const Snapshot& snapshot, std::string_view name, Storage storage) {
  const Column* column = snapshot.threads().find(name);
  return column && column->def().storage == storage ? column : nullptr;
}

std::span<const std::uint64_t> u64_values_of_living(const Snapshot& snapshot,
                                                    std::string_view name) {
  const auto all = u64_values(snapshot.threads(), name);
  return snapshot.window ? all.first(std::min(all.size(), snapshot.window->living_threads)) : all;
}

std::size_t leader_row(std::uint64_t process, std::span<const std::uint64_t> tgids,
                       std::span<const std::uint64_t> tids) {
  const auto [first, last] = std::equal_range(tgids.begin(), tgids.end(), process);
  if (first == last) return tgids.size();
  const auto begin = tids.begin() + (first - tgids.begin()),
             end = tids.begin() + (last - tgids.begin());
  const auto leader = std::lower_bound(begin, end, process);
  const bool is_listed = leader != end && *leader == process;
  return static_cast<std::size_t>((is_listed ? leader : begin) - tids.begin());
}

ProcessKeys::ProcessKeys(const Snapshot& snapshot)
    : snapshot_(&snapshot),
      pcomms_(snapshot.threads().find(kPcomm)),
      tgids_(u64_values(snapshot.threads(), kTgid)),
      process_tgids_(u64_values(snapshot.table(Entity::Process), kProcessTgid)) {
  if (pcomms_ && pcomms_->def().storage != Storage::String) pcomms_ = nullptr;
  for (std::size_t row = 0; row < process_tgids_.size(); ++row)
    row_of_.emplace(process_tgids_[row], row);
}

std::string ProcessKeys::key(std::size_t thread, std::uint64_t tgid) const {
  const bool has_name = pcomms_ && pcomms_->has_value(thread);
  const std::string name(has_name ? snapshot_->pools->texts[pcomms_->ids()[thread]]
                                  : std::string_view{});
  return name + "[" + std::to_string(tgid) + "]";
}

std::string ProcessKeys::key_of_thread(std::size_t row) const {
  return row < tgids_.size() ? key(row, tgids_[row]) : std::string();
}

std::string ProcessKeys::key_of_process(std::size_t row, std::size_t leader) const {
  return key(leader, process_tgids_[row]);
}

std::string_view ProcessKeys::process_text_of_thread(const Column& metric, std::size_t row) const {
  const auto process = row < tgids_.size() ? row_of_.find(tgids_[row]) : row_of_.end();
  if (process == row_of_.end() || !metric.has_value(process->second)) return {};
  return snapshot_->pools->texts[metric.ids()[process->second]];
}

const Column* find_process_text(const Snapshot& side, std::string_view metric) {
  const Column* column = side.table(Entity::Process).find(metric);
  return column && is_text(*column) ? column : nullptr;
}

namespace {

// Fails if no side has rows or columns of the entity of a plugin.
Result<void> check_entity_axis(std::span<const Snapshot* const> sides, const Spec& spec) {
  std::vector<std::string> known;
  for (const Snapshot* side : sides) {
    if (!side->table(spec.entity).columns.empty()) return {};
    for (const Entity entity : grouped_entities())
      if (is_of_plugin(entity) && !side->table(entity).columns.empty())
        known.emplace_back(name(entity));
  }
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return error("reading --entity", spec.group_metric,
               known.empty() ? "the input has no entities of plugins"
                             : "the input has only " + join_texts(known) +
                                   suggest_nearest(spec.group_metric, known));
}

}  // namespace

Result<void> check_axis(std::span<const Snapshot* const> sides, const Spec& spec) {
  if (spec.group_by == GroupBy::Entity) return check_entity_axis(sides, spec);
  if (spec.group_by != GroupBy::ProcessText) return {};
  std::vector<std::string> known_words = axis_words();
  for (const Snapshot* side : sides) {
    if (find_process_text(*side, spec.group_metric)) return {};
    for (const Column& column : side->table(Entity::Process).columns)
      if (is_text(column)) known_words.push_back(column.def().name);
  }
  return error("reading --group-by", spec.group_metric,
               "no process in the input has a text metric of that name" +
                   suggest_nearest(spec.group_metric, known_words));
}

}  // namespace ctprof
