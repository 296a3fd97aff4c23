#include "core/file/layout/registry_part.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/json_scanner.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/members.hpp"
#include "core/registry/finding_statement.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof {
namespace {

// Nesting depth of the members of `registry`, and of a definition in it.
constexpr std::size_t kDepthOfRegistry = 2, kDepthOfItem = 4;

// Returns the path below a row under which the metric's cells are kept.
std::string kept_path_of(const KeptMembers& metric, Entity entity) {
  std::string path;
  const KeyPath place = parse_key_path(text_member(metric, "file_path"));
  if (place.root == TreeRoot::None || place.root != root_of(entity))
    append_to_path(path, text_member(metric, "name"));
  else
    for (const std::string& key : place.keys) append_to_path(path, key);
  return path;
}

bool is_known_entity(std::string_view word) {
  Entity entity{};
  return parse(word, entity);
}
bool is_known_storage(std::string_view word) {
  Storage storage{};
  return parse(word, storage);
}

// Returns whether a definition has an entity or storage that this version does not know.
bool is_unknown_definition(const KeptMembers& definition) {
  const auto has_unknown_word = [&](std::string_view key, auto is_known) {
    const auto word = definition.find(key);
    return word != definition.end() && word->second.starts_with('"') &&
           !is_known(Scanner(word->second).text());
  };
  return has_unknown_word("entity", is_known_entity) ||
         has_unknown_word("storage", is_known_storage);
}

UnknownMetric unknown_metric(const KeptMembers& metric, std::string_view json) {
  UnknownMetric result;
  result.name = text_member(metric, "name");
  if (Entity entity{}; parse(text_member(metric, "entity"), entity)) {
    result.entity = entity;
    result.path = kept_path_of(metric, entity);
  }
  result.definition = remove_blanks(json);
  return result;
}

// Adds a member of a definition that this version cannot show to the unknown ones.
void keep_if_dropped(const KeptMembers& definition, const std::string& key, bool is_known,
                     KeptMembers& unknown) {
  const auto found = definition.find(key);
  if (!is_known && found != definition.end()) unknown.insert(*found);
}

constexpr const char* kDifferentMeaning = "ctprof defines this name differently";

const MetricDef* find_identity(std::string_view name) {
  const auto& known = identity_metrics();
  const auto it = std::ranges::find(known, name, &MetricDef::name);
  return it == known.end() ? nullptr : &*it;
}

// The metrics of a registry by name. Lookups take the same time however many there are.
struct MetricIndex {
  explicit MetricIndex(const RegistryPart& registry) {
    for (const RegistryPart::Metric& metric : registry.metrics)
      known.emplace(metric.def.name, &metric);
  }
  const RegistryPart::Metric* find_known(const std::string& name) const {
    const auto found = known.find(name);
    return found == known.end() ? nullptr : found->second;
  }
  // Returns false if another unknown metric has its name, or its entity and path.
  bool add_unknown(const UnknownMetric& metric) {
    const bool is_new = unknown_names.insert(metric.name).second;
    return is_new &&
           (!metric.entity ||
            unknown_paths[static_cast<std::size_t>(*metric.entity)].insert(metric.path).second);
  }

  using Names = std::unordered_set<std::string, SeededHash>;
  std::unordered_map<std::string, const RegistryPart::Metric*, SeededHash> known;
  Names unknown_names;
  std::array<Names, kEntities> unknown_paths;
};

// Keeps an unknown metric. Its name and path must be unique, and not those of an identity metric,
// which every snapshot has with a fixed meaning.
Result<void> keep_metric(UnknownMetric metric, MetricIndex& index,
                         std::vector<UnknownMetric>& metrics) {
  if (find_identity(metric.name))
    return Error{"registry.metrics has an invalid entry, '" + metric.name +
                 "': " + kDifferentMeaning};
  if (!index.add_unknown(metric))
    return Error{"registry.metrics has '" + metric.name.substr(0, 40) + "' twice"};
  metrics.push_back(std::move(metric));
  return {};
}

Result<void> keep_unknown_of_metric(std::string_view json, MetricIndex& index,
                                    RegistryPart& registry) {
  const auto members = parse_members(json, kDepthOfItem);
  if (!members) return Error{"registry.metrics is wrong: " + members.error().text};
  const RegistryPart::Metric* known = index.find_known(text_member(*members, "name"));
  if (known && is_unknown_definition(*members))
    return Error{"registry.metrics has '" + known->def.name.substr(0, 40) + "' twice"};
  if (!known) return keep_metric(unknown_metric(*members, json), index, registry.unknown.metrics);
  KeptMembers kept = unknown_members<RegistryPart::Metric>(*members);
  keep_if_dropped(*members, "headline", known->def.headline.has_value(), kept);
  if (!kept.empty()) registry.unknown.metric_members[known->def.name] = std::move(kept);
  return {};
}

// Keeps the unknown parts of a derived definition. `next` is the index of the next known one.
Result<void> keep_unknown_of_derived(std::string_view json, std::size_t& next,
                                     RegistryPart& registry) {
  const auto members = parse_members(json, kDepthOfItem);
  if (!members) return Error{"registry.derived is wrong: " + members.error().text};
  if (is_unknown_definition(*members)) {
    registry.unknown.derived.push_back(remove_blanks(json));
    return {};
  }
  const DerivedDef& def = registry.derived[next++];
  KeptMembers kept = unknown_members<DerivedDef>(*members);
  keep_if_dropped(*members, "headline", def.headline.has_value(), kept);
  keep_if_dropped(*members, "finding", def.finding.has_value(), kept);
  if (!kept.empty()) registry.unknown.derived_members[def.name] = std::move(kept);
  return {};
}

// Keeps the unknown parts of the registry, so that they are written again. `json` is the registry's
// text, and `registry` has its known parts. The error describes what is wrong with the text.
Result<void> keep_unknown(std::string_view json, RegistryPart& registry) {
  auto members = parse_members(json, kDepthOfRegistry);
  if (!members) return Error{"registry is wrong: " + members.error().text};
  MetricIndex index(registry);
  for (const std::string_view item : split_array((*members)["metrics"]))
    CTPROF_TRY(keep_unknown_of_metric(item, index, registry));
  std::size_t next = 0;
  for (const std::string_view item : split_array((*members)["derived"]))
    CTPROF_TRY(keep_unknown_of_derived(item, next, registry));
  for (const char* known : {"metrics", "derived", "placeholders"}) members->erase(known);
  registry.unknown.members = std::move(*members);
  return {};
}

constexpr std::size_t kShownNameBytes = 64;  // bytes of a name in a message

// Returns why a definition is rejected; empty if it is valid. A plugin's own rule is checked
// through its built-in fallback.
std::string rejection_reason(const MetricDef& def) {
  for (const std::string* text : {&def.name, &def.section, &def.unit, &def.rule, &def.fallback,
                                  &def.file_path, &def.file_aliases, &def.role, &def.reduction})
    if (text->size() > limits::kNameBytes)
      return "it has a text of more than " + std::to_string(limits::kNameBytes) + " bytes";
  if (std::count(def.file_aliases.begin(), def.file_aliases.end(), ',') >=
      std::ptrdiff_t{limits::kSpellings})
    return "it has more than " + std::to_string(limits::kSpellings) + " other spellings";
  const NewtypeInfo& newtype = *find_newtype(def.newtype);
  if (static_cast<ctprof_storage>(def.storage) != newtype.storage)
    return "its storage differs from that of the newtype " + def.newtype;
  const RuleInfo* rule = find_rule(def.rule);
  if (!rule) rule = find_rule(def.fallback);
  if (rule && pairing(newtype, *rule) != Pairing::Fits)
    return std::string(sentence(pairing(newtype, *rule)));
  const MetricDef* identity = find_identity(def.name);
  return identity && !has_same_meaning(*identity, def) ? kDifferentMeaning : "";
}

std::string list_error(std::string_view key, std::size_t most) {
  return "registry." + std::string(key) + " is not an array of at most " + std::to_string(most) +
         " items";
}

// Reads the registry's members.
class RegistryReader {
 public:
  using EntityWords = FieldReader::EntityWords;

  RegistryReader(std::string_view text, EntityWords entity_words)
      : in_(text), entity_words_(entity_words) {}

  Result<void> read(RegistryPart& registry) {
    if (in_.peek() != '{') return Error{"registry is not an object"};
    for (in_.enter('{'); in_.next('}');)
      if (auto done = read_member(in_.key(), registry); !done) return done;
    return in_.at_end() ? Result<void>() : Error{"registry is not an object"};
  }
  // Returns whether there are parts that this version does not know.
  bool has_unknown() const { return has_unknown_; }

 private:
  Result<void> read_member(std::string_view key, RegistryPart& registry) {
    if (key == "metrics") return read_definitions("metrics", limits::kColumns, registry.metrics);
    if (key == "derived") return read_definitions("derived", limits::kDerived, registry.derived);
    if (key == "placeholders") return read_placeholders(registry.placeholders);
    has_unknown_ = true;
    in_.discard(limits::kDepth);
    return {};
  }

  // Reads a list of definitions, except those that are unknown to this version.
  template <class T>
  Result<void> read_definitions(const char* key, std::size_t most, std::vector<T>& out) {
    if (in_.peek() != '[') return Error{list_error(key, most)};
    out.clear();
    std::size_t place = 0;
    for (in_.enter('['); in_.next(']'); ++place) {
      if (place == most) return Error{list_error(key, most)};
      FieldReader reader(in_, std::string("registry.") + key + "[" + std::to_string(place) + "]",
                         entity_words_);
      reader.read_object(out.emplace_back());
      if (!reader.has_unknown_kind() && !reader.error_text().empty())
        return Error{reader.error_text()};
      has_unknown_ = has_unknown_ || reader.has_unknown_kind() || reader.has_unknown_members();
      if (reader.has_unknown_kind()) out.pop_back();
    }
    return {};
  }

  Result<void> read_placeholders(std::vector<std::string>& out) {
    constexpr std::string_view kKey = "placeholders";
    if (in_.peek() != '[') return Error{list_error(kKey, limits::kColumns)};
    out.clear();
    for (in_.enter('['); in_.next(']');) {
      if (out.size() == limits::kColumns) return Error{list_error(kKey, limits::kColumns)};
      if (in_.peek() != '"') return Error{"registry.placeholders holds something other than texts"};
      out.emplace_back(in_.text());
    }
    return {};
  }

  Scanner in_;
  EntityWords entity_words_;
  bool has_unknown_ = false;
};

// Removes a headline that this version cannot show. Returns whether it did.
bool drop_unknown(std::optional<Headline>& headline) {
  const bool has_unknown_word =
      headline && (headline->shown > CTPROF_SHOWN_LEVEL || headline->floor < 0 ||
                   headline->label.empty() || headline->label.size() > limits::kNameBytes);
  if (has_unknown_word) headline.reset();
  return has_unknown_word;
}

bool drop_unknown(std::optional<FindingDef>& finding) {
  const bool is_unknown = finding && !find_error(*finding).empty();
  if (is_unknown) finding.reset();
  return is_unknown;
}

// Removes definitions, headlines and findings of newer versions. Returns whether there were any.
bool drop_unknown(RegistryPart& registry) {
  std::size_t dropped = std::erase_if(
      registry.metrics, [](const auto& metric) { return !find_newtype(metric.def.newtype); });
  for (RegistryPart::Metric& metric : registry.metrics)
    dropped += drop_unknown(metric.def.headline);
  for (DerivedDef& def : registry.derived)
    dropped += drop_unknown(def.headline) + drop_unknown(def.finding);
  return dropped > 0;
}

Error check_definitions(const RegistryPart& registry) {
  std::unordered_set<std::string_view, SeededHash> names;
  for (const auto& [def, provenance] : registry.metrics) {
    if (!names.insert(def.name).second)
      return {"registry.metrics has '" + def.name.substr(0, kShownNameBytes) + "' twice"};
    if (const std::string why = rejection_reason(def); !why.empty())
      return {"registry.metrics has an invalid entry, '" + def.name.substr(0, kShownNameBytes) +
              "': " + why};
  }
  for (const DerivedDef& def : registry.derived)
    for (const std::string* text : {&def.name, &def.section, &def.unit})
      if (text->size() > limits::kNameBytes)
        return {"registry.derived has an entry with a text of more than " +
                std::to_string(limits::kNameBytes) + " bytes"};
  return {};
}

}  // namespace

void write_registry(const RegistryPart& registry, JsonWriter& out) {
  RegistryView view{{}, registry.derived, registry.placeholders, registry.unknown, registry.labels};
  for (const auto& [def, provenance] : registry.metrics)
    view.metrics.push_back({&def, &provenance});
  write_registry(view, out);
}

void write_registry(const RegistryView& registry, JsonWriter& out) {
  FieldWriter writer(out);
  const auto item = [&](const auto& fields, const auto& unknown, std::string_view name) {
    out.put('{');
    writer.write_members(fields);
    if (const auto kept = unknown.find(name); kept != unknown.end())
      write_members(kept->second, out);
    out.close('}');
    out.put(',');
  };
  const UnknownDefinitions& unknown = registry.unknown;
  out.raw("{\"metrics\":[");
  for (const auto& metric : registry.metrics)
    item(metric, unknown.metric_members, metric.def->name);
  for (const UnknownMetric& metric : unknown.metrics) out.raw(metric.definition), out.put(',');
  out.close(']');
  out.raw(",\"derived\":[");
  for (const DerivedDef& def : registry.derived) item(def, unknown.derived_members, def.name);
  for (const RawJson& definition : unknown.derived) out.raw(definition), out.put(',');
  out.close(']');
  out.raw(",\"placeholders\":[");
  for (const std::string& place : registry.placeholders) out.text(place), out.put(',');
  out.close(']');
  out.put(',');
  for (const auto& [key, value] : unknown.members)
    if (key != kLabelsKey) out.key(key), out.raw(value), out.put(',');
  write_labels(registry.labels, unknown.members, out);
  out.close('}');
}

Result<RegistryPart> read_registry(std::string_view text, FieldReader::EntityWords entity_words) {
  if (text.size() > limits::kObjectBytes)
    return Error{"registry is longer than " + std::to_string(limits::kObjectBytes) + " bytes"};
  RegistryPart registry;
  RegistryReader reader(text, entity_words);
  CTPROF_TRY(reader.read(registry));
  const bool has_unknown = drop_unknown(registry) || reader.has_unknown();
  if (const Error wrong = check_definitions(registry); !wrong.text.empty()) return wrong;
  if (!has_unknown) return registry;
  CTPROF_TRY(keep_unknown(text, registry));
  LabelTaker labels(registry.unknown.members);
  for (RegistryPart::Metric& metric : registry.metrics) labels.take(metric.def);
  labels.commit();
  return registry;
}

}  // namespace ctprof
