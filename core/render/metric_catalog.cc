#include "core/render/metric_catalog.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/text.hpp"
#include "core/compare/request/spec.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/map_labels.hpp"
#include "core/registry/metric_def.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"
#include "core/window/blocked_time.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

template <class Def>
const Def* find_by_name(const std::vector<Def>& all, std::string_view name) {
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const Def& def) { return def.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::vector<std::string> get_offering_plugins(const OfferedMetric& field) {
  std::vector<std::string> names;
  for (const Offer& offer : field.offers) names.push_back(offer.plugin->name);
  return names;
}

}  // namespace

MetricCatalog::MetricCatalog(const RuleSet& rules) : metrics_(identity_metrics()), rules_(&rules) {}

MetricCatalog MetricCatalog::from_registry(const Registry& registry) {
  MetricCatalog catalog(registry.rules());
  catalog.unoffered_.push_back(blocked_time_metric());
  for (const OfferedMetric& field : registry.offered_metrics())
    catalog.add(field.def, get_offering_plugins(field));
  for (const Recorder& recorder : registry.recorders())
    for (const OfferTable& offer : recorder.source->offers)
      if (offer.is_supported && recorder.source->table.stage == CTPROF_STAGE_RECORD)
        catalog.add(offer.metric, {recorder.plugin->name});
  for (const MetricDef& def : registry.vocabulary().metrics)
    if (!def.is_hidden && !find_by_name(catalog.metrics_, def.name))
      catalog.unoffered_.push_back(def);
  catalog.derived_ = registry.derived_metrics();
  return catalog;
}

MetricCatalog MetricCatalog::from_snapshot(const Snapshot& snapshot, const RuleSet& rules) {
  MetricCatalog catalog(rules);
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      const std::string& plugin = column.provenance.plugin;
      catalog.add(column.def(), plugin.empty() ? std::vector<std::string>{} : std::vector{plugin});
    }
  catalog.derived_ = snapshot.derived;
  return catalog;
}

// Adds a metric. The plugins are those that offer the metric; another plugin may have declared it.
void MetricCatalog::add(MetricDef def, std::vector<std::string> plugins) {
  if (def.is_hidden || find_by_name(metrics_, def.name)) return;
  def.plugin = join_texts(plugins, ",");
  plugins_[def.name] = std::move(plugins);
  metrics_.push_back(std::move(def));
}

const MetricDef* MetricCatalog::find(std::string_view name) const {
  const MetricDef* listed = find_by_name(metrics_, name);
  return listed ? listed : find_by_name(unoffered_, name);
}

const DerivedDef* MetricCatalog::find_derived(std::string_view name) const {
  return find_by_name(derived_, name);
}

std::optional<std::string> MetricCatalog::find_column_metric(std::string_view label) const {
  const auto search = [&](const auto& defs) -> std::optional<std::string> {
    for (const auto& def : defs)
      if (def.headline && def.headline->label == label) return def.name;
    return {};
  };
  if (auto name = search(metrics_)) return name;
  if (auto name = search(derived_)) return name;
  return search(unoffered_);
}

std::vector<std::string> MetricCatalog::get_plugins(const std::string& name) const {
  const auto it = plugins_.find(name);
  return it == plugins_.end() ? std::vector<std::string>{} : it->second;
}

std::vector<std::string> MetricCatalog::get_all_names() const {
  std::vector<std::string> names;
  for (const MetricDef& def : metrics_) names.push_back(def.name);
  for (const MetricDef& def : unoffered_) names.push_back(def.name);
  for (const DerivedDef& def : derived_) names.push_back(def.name);
  return names;
}

namespace {

// The data of the list about a metric, stored or derived.
struct ListEntry {
  std::string name, entity, newtype, rule, unit, family, section, plugin, description, caveat;
  std::vector<std::string> tags;
  std::string expression;  // of a derived metric
  std::string source;      // of a stored metric: the kernel's file, and the item in it
  std::vector<std::string_view> labels{};  // of the keys of a map; refer to the catalog
};

ListEntry make_entry(const MetricDef& def) {
  return {def.name,        std::string(name(def.entity)),
          def.newtype,     def.rule,
          def.unit,        def.family,
          def.section,     def.plugin,
          def.description, def.caveat,
          tags_of(def),    {},
          def.source,      label_names(def.labels)};
}

ListEntry make_entry(const DerivedDef& def) {
  return {def.name,
          std::string(name(def.entity)),
          "Derived",
          "Formula",
          def.unit,
          def.family,
          def.section,
          def.plugin,
          def.description,
          def.caveat,
          tags_of(def),
          def.expression,
          {}};
}

std::vector<ListEntry> make_entries(const MetricCatalog& catalog) {
  std::vector<ListEntry> entries;
  for (const MetricDef& def : catalog.metrics()) entries.push_back(make_entry(def));
  for (const DerivedDef& def : catalog.derived_metrics()) entries.push_back(make_entry(def));
  return entries;
}

std::string indent(const std::string& text, std::size_t width) {
  constexpr std::size_t kIndent = 4;
  std::string out;
  const std::string lines = wrap_words(text, width > 2 * kIndent ? width - kIndent : 0);
  for (std::string_view remaining = lines; !remaining.empty();) {
    const auto end = remaining.find('\n');
    std::string_view line = remaining.substr(0, end);
    while (line.starts_with(' ')) line.remove_prefix(1);
    out += std::string(kIndent, ' ') + std::string(line) + "\n";
    remaining.remove_prefix(end + 1);
  }
  return out;
}

std::string format_facts(const ListEntry& entry) {
  std::string text =
      entry.unit + ", " + entry.rule + " over " + entry.newtype + ", " + entry.family;
  for (const std::string& tag : entry.tags) text += " [" + tag + "]";
  if (!entry.labels.empty()) text += " by " + join_texts(entry.labels, " and ");
  if (!entry.expression.empty()) text += "  = " + entry.expression;
  return make_printable(text + (entry.plugin.empty() ? "" : "  (" + entry.plugin + ")"));
}

void append_section(std::string& out, const std::vector<ListEntry>& entries,
                    const std::string& section, const TextLayout& layout) {
  out += (out.empty() ? "" : "\n") +
         apply_tint("## " + make_printable(section), Tint::Heading, layout.use_color) + "\n";
  for (const ListEntry& entry : entries) {
    if (entry.section != section) continue;
    out += make_printable(entry.name) + "  " + format_facts(entry) + "\n";
    out += indent(make_printable(entry.description), layout.width);
    if (!entry.source.empty()) out += indent("from " + make_printable(entry.source), layout.width);
  }
}

template <class Texts>
void write_texts(const Texts& texts, JsonWriter& out) {
  out.put('[');
  for (const auto& text : texts) {
    out.text(text);
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

void write_entry(const ListEntry& entry, JsonWriter& out) {
  out.put('{');
  out.member("name", entry.name);
  out.member("entity", entry.entity);
  out.member("newtype", entry.newtype);
  out.member("rule", entry.rule);
  out.member("unit", entry.unit);
  out.member("family", entry.family);
  out.member("section", entry.section);
  out.key("tags");
  write_texts(entry.tags, out);
  out.member("plugin", entry.plugin);
  out.member("description", entry.description);
  out.member("caveat", entry.caveat);
  if (!entry.expression.empty()) out.member("expression", entry.expression);
  if (!entry.labels.empty()) {
    out.key("labels");
    write_texts(entry.labels, out);
  }
  out.close('}');
  out.put(',');
}

}  // namespace

std::string format_metric_list(const MetricCatalog& catalog, const TextLayout& layout) {
  const auto entries = make_entries(catalog);
  std::vector<std::string> sections;
  for (const ListEntry& entry : entries)
    if (std::find(sections.begin(), sections.end(), entry.section) == sections.end())
      sections.push_back(entry.section);
  std::sort(sections.begin(), sections.end(), [](const std::string& a, const std::string& b) {
    return section_sort_key(a) < section_sort_key(b);
  });
  if (entries.empty()) return "";
  std::string out =
      wrap_words(format_count(entries.size(), "metric") + " in " +
                     format_count(sections.size(), "section") + "; ctprof help METRIC explains one",
                 layout.width) +
      "\n";
  for (const std::string& section : sections) append_section(out, entries, section, layout);
  return out;
}

std::string format_metric_list_json(const MetricCatalog& catalog) {
  JsonWriter out(Escape::Unprintable);
  out.put('{');
  out.member("schema", kReportSchema);
  out.key("metrics");
  out.put('[');
  for (const ListEntry& entry : make_entries(catalog)) write_entry(entry, out);
  out.close(']');
  out.raw("}\n");
  return std::string(out.view());
}

}  // namespace ctprof
