#include "core/render/metric_help.hpp"

#include <algorithm>
#include <optional>

#include "core/base/json_writer.hpp"
#include "core/base/text.hpp"
#include "core/expression/expression.hpp"
#include "core/registry/metric_def.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

// The width of the names of facts, including blanks: the column where facts begin.
constexpr std::size_t kFactsAt = 13;

// All facts about a metric; empty if unknown or not applicable.
struct Facts {
  std::string name, description, formula, entity, applies_to, unit, family, section, newtype, rule,
      rule_description;
  std::string source, kernel_writer, since, caveat, file_path;
  std::string column, column_floor, column_order;  // of the first screen
  std::vector<std::string> tags, config_gates, goes_into, plugins;
  bool is_derived = false;
};

// Returns the derived metrics whose formula reads this metric.
std::vector<std::string> readers_of(const MetricCatalog& catalog, std::string_view name) {
  std::vector<std::string> readers;
  for (const DerivedDef& def : catalog.derived()) {
    const auto inputs = inputs_of(def.expression);
    if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) readers.push_back(def.name);
  }
  return readers;
}

// --- columns of the first screen

std::string kind_of_column(const Headline& headline) {
  switch (headline.shown) {
    case CTPROF_SHOWN_PERCENT: return "in percent of one CPU, or of the elapsed time";
    case CTPROF_SHOWN_LEVEL: return "the value when the window closes, and its change";
    default: return "per second";
  }
}

// Describes the floor of a column; it is per second if the figure is.
std::string floor_of_column(const Headline& headline, const std::string& unit) {
  if (headline.shown == CTPROF_SHOWN_PERCENT)
    return brief(100 * headline.floor / 1e9, "percent") + " %";
  const std::string floor = brief(headline.floor, unit);
  if (headline.shown != CTPROF_SHOWN_LEVEL) return floor + " per second";
  return unit == "bytes"
             ? "a change of " + floor + ", or of 1 % of the host's memory if that is less"
             : "a change of " + floor;
}

// Describes how a figure influences the order of rows (compare/report/screen_weight.hpp).
std::string order_of_column(const Headline& headline, const std::string& unit,
                            const std::string& role) {
  if (headline.by_change) return "does not order rows, because it includes voluntary sleep";
  if (headline.shown == CTPROF_SHOWN_PERCENT) {
    const bool is_of_cpus = role == "run-time" || role == "wait-time";
    return is_of_cpus ? "counts as a share of the time of all CPUs, at most 1"
                      : "counts as a share of the time of all CPUs, of a group at most one second "
                        "per second";
  }
  if (unit != "bytes")
    return "does not order rows, because the CPU time includes the cost of such events";
  return headline.shown == CTPROF_SHOWN_LEVEL ? "counts as a share of the host's memory"
                                              : "counts as a share of the bytes that the host's "
                                                "disks moved, times the share of time "
                                                "in which they were busy";
}

template <class Def>
void add_column(const Def& def, Facts& facts) {
  if (!def.headline) return;
  facts.column = def.headline->label + ", " + kind_of_column(*def.headline);
  facts.column_floor = floor_of_column(*def.headline, def.unit);
  facts.column_order = order_of_column(*def.headline, def.unit, def.role);
}

// Returns the facts that stored and derived metrics have in common.
template <class Def>
Facts common_facts(const Def& def, const MetricCatalog& catalog) {
  Facts facts;
  facts.name = def.name;
  facts.description = def.description;
  facts.entity = ctprof::name(def.entity);
  facts.applies_to = def.applies_to;
  facts.unit = def.unit;
  facts.family = def.family;
  facts.section = def.section;
  facts.tags = tags_of(def);
  if (!def.config_gates.empty()) {
    const auto gates = split(def.config_gates);
    facts.config_gates.assign(gates.begin(), gates.end());
  }
  facts.caveat = def.caveat;
  facts.goes_into = readers_of(catalog, def.name);
  add_column(def, facts);
  return facts;
}

Facts facts_of(const MetricDef& def, const MetricCatalog& catalog) {
  Facts facts = common_facts(def, catalog);
  const ctprof_rule* rule = catalog.rules().find(def.rule);
  facts.newtype = def.newtype;
  facts.rule = def.rule;
  facts.rule_description = rule && rule->description ? rule->description : "";
  facts.source = def.source;
  facts.kernel_writer = def.kernel_writer;
  facts.since = def.since;
  facts.file_path = def.file_path == "none" ? "" : def.file_path;
  facts.plugins = catalog.fillers(def.name);
  return facts;
}

Facts facts_of(const DerivedDef& def, const MetricCatalog& catalog) {
  Facts facts = common_facts(def, catalog);
  facts.formula = def.expression;
  facts.plugins = {def.plugin};
  facts.is_derived = true;
  return facts;
}

// A page of named facts; facts without a value are omitted.
class Page {
 public:
  Page(const std::string& name, const std::string& description, const TextLayout& layout)
      : layout_(layout) {
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

  const std::string& text() const { return out_; }

 private:
  TextLayout layout_;
  std::string out_;
};

std::string rule_in_words(const Facts& facts) {
  if (facts.is_derived) return "computed from the group's values of its inputs";
  return facts.rule + (facts.rule_description.empty() ? "" : ": " + facts.rule_description);
}

std::string fillers_in_words(const Facts& facts) {
  if (!facts.plugins.empty()) return joined(facts.plugins);
  return facts.family == "identity" ? "the capture itself" : "no loaded plugin";
}

std::string page_of(const Facts& facts, const TextLayout& layout) {
  Page page(facts.name, facts.description, layout);
  if (facts.is_derived) page.fact("formula", facts.name + " = " + facts.formula);
  if (!facts.column.empty()) {
    page.fact("column", facts.column);
    page.fact("quiet", "a group is quiet below " + facts.column_floor);
    page.fact("order",
              "rows are in the order of their largest share of the machine, which * marks; "
              "this column " +
                  facts.column_order);
  }
  page.fact("entity",
            facts.entity + (facts.applies_to == "leader" ? " that leads its process" : ""));
  page.fact("unit", facts.unit);
  page.fact("family", facts.family);
  page.fact("section", facts.section);
  page.fact("tags", joined(facts.tags));
  page.fact("newtype", facts.newtype);
  page.fact("rule", rule_in_words(facts));
  page.fact("read from", facts.source);
  page.fact("written by", facts.kernel_writer);
  page.fact("config", joined(facts.config_gates));
  page.fact("since", facts.since);
  page.fact("caveat", facts.caveat);
  page.fact("used by", joined(facts.goes_into));
  page.fact("in the file", facts.file_path);
  page.fact(facts.is_derived ? "defined by" : "filled by", fillers_in_words(facts));
  return page.text();
}

// Builds one JSON object; null represents empty values.
class Members {
 public:
  Members() {
    out_.put('{');
    out_.member("schema", kReportSchema);
  }
  void add(std::string_view key, const std::string& text) {
    out_.key(key);
    text.empty() ? out_.raw("null") : out_.text(text);
    out_.put(',');
  }
  void add(std::string_view key, const std::vector<std::string>& words) {
    out_.key(key);
    out_.put('[');
    for (const std::string& word : words) {
      out_.text(word);
      out_.put(',');
    }
    out_.close(']');
    out_.put(',');
  }
  std::string text() {
    out_.close('}');
    out_.put('\n');
    return std::string(out_.view());
  }

 private:
  JsonWriter out_{Escape::Unshowable};
};

std::string json_of(const Facts& facts) {
  Members members;
  members.add("name", facts.name);
  members.add("description", facts.description);
  members.add("expression", facts.formula);
  members.add("entity", facts.entity);
  members.add("applies_to", facts.applies_to);
  members.add("unit", facts.unit);
  members.add("family", facts.family);
  members.add("section", facts.section);
  members.add("tags", facts.tags);
  members.add("newtype", facts.newtype);
  members.add("rule", facts.rule);
  members.add("rule_description", facts.rule_description);
  members.add("source", facts.source);
  members.add("kernel_writer", facts.kernel_writer);
  members.add("config_gates", facts.config_gates);
  members.add("since", facts.since);
  members.add("caveat", facts.caveat);
  members.add("goes_into", facts.goes_into);
  members.add("file_path", facts.file_path);
  members.add("plugins", facts.plugins);
  members.add("column", facts.column);
  members.add("column_floor", facts.column_floor);
  members.add("column_order", facts.column_order);
  return members.text();
}

// Finds a metric by its name or by the label of its column.
std::optional<Facts> find_facts(const MetricCatalog& catalog, std::string_view word) {
  const std::string name = catalog.name_of_column(word).value_or(std::string(word));
  if (const DerivedDef* derived = catalog.find_derived(name)) return facts_of(*derived, catalog);
  const MetricDef* def = catalog.find(name);
  return def ? std::optional(facts_of(*def, catalog)) : std::nullopt;
}

}  // namespace

std::string metric_help(const MetricCatalog& catalog, std::string_view name,
                        const TextLayout& layout) {
  const auto facts = find_facts(catalog, name);
  return facts ? page_of(*facts, layout) : "";
}

std::string metric_help_json(const MetricCatalog& catalog, std::string_view name) {
  const auto facts = find_facts(catalog, name);
  return facts ? json_of(*facts) : "";
}

}  // namespace ctprof
