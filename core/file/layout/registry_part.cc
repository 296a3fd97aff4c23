#include "core/file/layout/registry_part.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <unordered_set>

#include "core/base/seeded_hash.hpp"
#include "core/file/layout/field_io.hpp"
#include "core/file/layout/limits.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof {
namespace {

namespace json = boost::json;

constexpr std::size_t kNameTold = 64;  // bytes of a name in a sentence

// Why a definition cannot be taken; empty when it can. Rules that are a plugin's own are judged by
// the built-in one that stands in.
std::string objection(const MetricDef& def) {
  for (const std::string* text : {&def.name, &def.section, &def.unit, &def.rule, &def.fallback,
                                  &def.file_path, &def.file_aliases})
    if (text->size() > limits::kNameBytes)
      return "it has a text of more than " + std::to_string(limits::kNameBytes) + " bytes";
  if (std::count(def.file_aliases.begin(), def.file_aliases.end(), ',') >=
      std::ptrdiff_t{limits::kSpellings})
    return "it has more than " + std::to_string(limits::kSpellings) + " other spellings";
  const NewtypeInfo& newtype = *find_newtype(def.newtype);
  if (static_cast<ctprof_storage>(def.storage) != newtype.storage)
    return "its storage is not that of " + def.newtype;
  const RuleInfo* rule = find_rule(def.rule);
  if (!rule) rule = find_rule(def.fallback);
  if (rule && pairing(newtype, *rule) != Pairing::Fits)
    return std::string(sentence(pairing(newtype, *rule)));
  for (const MetricDef& identity : identity_metrics())
    if (identity.name == def.name && !same_meaning(identity, def))
      return "this name means something else";
  return "";
}

template <class T>
Error take_all(const json::object& registry, const char* key, std::size_t most,
               std::vector<T>& out) {
  const json::value* found = registry.if_contains(key);
  if (!found) return {};
  const std::string where = std::string("registry.") + key;
  if (!found->is_array() || found->get_array().size() > most)
    return {where + " is not an array of at most " + std::to_string(most) + " items"};
  for (const json::value& item : found->get_array()) {
    FieldReader reader(where + "[" + std::to_string(out.size()) + "]");
    reader.object(item, out.emplace_back());
    if (!reader.complaint().empty()) return {reader.complaint()};
  }
  return {};
}

Error take_placeholders(const json::object& registry, std::vector<std::string>& out) {
  const json::value* found = registry.if_contains("placeholders");
  if (!found) return {};
  if (!found->is_array() || found->get_array().size() > limits::kColumns)
    return {"registry.placeholders is not an array of at most " + std::to_string(limits::kColumns) +
            " items"};
  for (const json::value& item : found->get_array()) {
    if (!item.is_string()) return {"registry.placeholders holds something other than texts"};
    out.emplace_back(std::string_view(item.get_string()));
  }
  return {};
}

Error check(RegistryPart& registry) {
  std::erase_if(registry.metrics,
                [](const auto& metric) { return !find_newtype(metric.def.newtype); });
  std::unordered_set<std::string_view, SeededHash> names;
  for (const auto& [def, provenance] : registry.metrics) {
    if (!names.insert(def.name).second)
      return {"registry.metrics has '" + def.name.substr(0, kNameTold) + "' twice"};
    if (const std::string why = objection(def); !why.empty())
      return {"registry.metrics has a bad one, '" + def.name.substr(0, kNameTold) + "': " + why};
  }
  for (const DerivedDef& def : registry.derived)
    for (const std::string* text : {&def.name, &def.section, &def.unit})
      if (text->size() > limits::kNameBytes)
        return {"registry.derived has one with a text of more than " +
                std::to_string(limits::kNameBytes) + " bytes"};
  return {};
}

}  // namespace

// A metric's two objects stand in the file as one.
template <Of<RegistryPart::Metric> T, class Visitor>
void each_field(T& metric, Visitor&& visit) {
  each_field(metric.def, visit);
  each_field(metric.provenance, visit);
}

void write_registry(const RegistryPart& registry, JsonWriter& out) {
  FieldWriter writer(out);
  const auto list = [&](const char* key, const auto& items) {
    out.key(key);
    out.put('[');
    for (const auto& item : items) {
      writer.object(item);
      out.put(',');
    }
    out.close(']');
    out.put(',');
  };
  out.put('{');
  list("metrics", registry.metrics);
  list("derived", registry.derived);
  out.key("placeholders");
  out.put('[');
  for (const std::string& place : registry.placeholders) {
    out.text(place);
    out.put(',');
  }
  out.close(']');
  out.put('}');
}

Result<RegistryPart> read_registry(std::string_view text) {
  boost::system::error_code failed;
  const json::value value = json::parse({text.data(), text.size()}, failed);
  if (failed || !value.is_object()) return Error{"registry is not an object"};
  RegistryPart registry;
  for (const Error& wrong :
       {take_all(value.get_object(), "metrics", limits::kColumns, registry.metrics),
        take_all(value.get_object(), "derived", limits::kDerived, registry.derived),
        take_placeholders(value.get_object(), registry.placeholders), check(registry)})
    if (!wrong.text.empty()) return wrong;
  return registry;
}

}  // namespace ctprof
