#include "core/render/metric_help.hpp"

#include <algorithm>

#include "core/expression/expression.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/tags.hpp"
#include "core/render/leftovers.hpp"
#include "core/render/printable.hpp"

namespace ctprof {
namespace {

// The name of a fact, and blanks up to where facts begin.
constexpr std::size_t kFactsAt = 13;

const MetricDef* find_metric(const Registry& registry, std::string_view name) {
  const auto& identity = identity_metrics();
  const auto it = std::find_if(identity.begin(), identity.end(), [&](const MetricDef& def) { return def.name == name; });
  if (it != identity.end()) return &*it;
  if (const Field* field = registry.find(name); field && !field->def.hidden) return &field->def;
  const MetricDef* declared = registry.vocabulary().find(name);
  return declared && !declared->hidden ? declared : nullptr;
}

const DerivedDef* find_derived(const Registry& registry, std::string_view name) {
  const auto& all = registry.derived();
  const auto it = std::find_if(all.begin(), all.end(), [&](const DerivedDef& def) { return def.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::string with_commas(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string spaced(std::string_view list) {
  std::string text;
  for (const char c : list) text += c == ',' ? std::string(", ") : std::string(1, c);
  return text;
}

// Derived metrics whose formula reads this one.
std::vector<std::string> readers_of(const Registry& registry, std::string_view name) {
  std::vector<std::string> readers;
  for (const DerivedDef& def : registry.derived()) {
    const auto inputs = inputs_of(def.expression);
    if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) readers.push_back(def.name);
  }
  return readers;
}

// Who can fill it, the best first.
std::string fillers(const Registry& registry, const MetricDef& def) {
  const Field* field = registry.find(def.name);
  if (!field || field->offers.empty()) return def.family == "identity" || def.plugin.empty() ? "" : "no plugin that is loaded";
  std::vector<std::string> names;
  for (const Offer& offer : field->offers) names.push_back(offer.plugin->name);
  return with_commas(names);
}

std::string rule_in_words(const Registry& registry, const std::string& name) {
  const ctprof_rule* rule = registry.rules().find(name);
  return rule && rule->description ? name + ": " + rule->description : name;
}

// Facts, each under its name; those that do not exist are not told.
class Page {
 public:
  Page(const std::string& name, const std::string& description, const TextLayout& layout) : layout_(layout) {
    out_ = tinted(printable(name), Tint::Heading, layout.color) + "\n";
    out_ += wrapped(printable(description), layout.width);
  }

  void fact(std::string name, const std::string& text) {
    if (text.empty()) return;
    name.resize(kFactsAt, ' ');
    const std::size_t room = layout_.width > 2 * kFactsAt ? layout_.width - kFactsAt : 0;
    std::string_view left;
    const std::string lines = wrapped(printable(text), room);
    for (left = lines; !left.empty(); name.assign(kFactsAt, ' ')) {
      const auto end = left.find('\n');
      std::string_view line = left.substr(0, end);
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      out_ += name + std::string(line) + "\n";
      left.remove_prefix(end + 1);
    }
  }

  // What stored and derived metrics have in common.
  template <class Def>
  void common(const Def& def) {
    fact("of each", std::string(ctprof::name(def.entity)) + (def.applies_to == "leader" ? " that leads its process" : ""));
    fact("unit", def.unit);
    fact("family", def.family);
    fact("section", def.section);
    fact("tags", with_commas(tags_of(def)));
  }

  const std::string& text() const { return out_; }

 private:
  TextLayout layout_;
  std::string out_;
};

std::string page_of(const MetricDef& def, const Registry& registry, const TextLayout& layout) {
  Page page(def.name, def.description, layout);
  page.common(def);
  page.fact("newtype", def.newtype);
  page.fact("rule", rule_in_words(registry, def.rule));
  page.fact("read from", def.source);
  page.fact("written by", def.kernel_writer);
  page.fact("built with", spaced(def.config_gates));
  page.fact("since", def.since);
  page.fact("beware", def.caveat);
  page.fact("goes into", with_commas(readers_of(registry, def.name)));
  page.fact("in the file", def.file_path == "none" ? "" : def.file_path);
  page.fact("filled by", fillers(registry, def));
  page.fact("declared by", def.plugin);
  return page.text();
}

std::string page_of(const DerivedDef& def, const Registry& registry, const TextLayout& layout) {
  Page page(def.name, def.description, layout);
  page.fact("formula", def.name + " = " + def.expression);
  page.common(def);
  page.fact("rule", "computed from what a group's inputs were reduced to");
  page.fact("built with", spaced(def.config_gates));
  page.fact("beware", def.caveat);
  page.fact("goes into", with_commas(readers_of(registry, def.name)));
  page.fact("declared by", def.plugin);
  return page.text();
}

}  // namespace

std::string metric_help(const Registry& registry, std::string_view name, const TextLayout& layout) {
  if (const DerivedDef* derived = find_derived(registry, name)) return page_of(*derived, registry, layout);
  const MetricDef* def = find_metric(registry, name);
  return def ? page_of(*def, registry, layout) : "";
}

std::vector<std::string> known_metrics(const Registry& registry) {
  std::vector<std::string> names;
  for (const MetricDef& def : identity_metrics()) names.push_back(def.name);
  for (const Field& field : registry.fields())
    if (!field.def.hidden) names.push_back(field.def.name);
  for (const MetricDef& def : registry.vocabulary().metrics)
    if (!def.hidden) names.push_back(def.name);
  for (const DerivedDef& def : registry.derived()) names.push_back(def.name);
  return names;
}

}  // namespace ctprof
