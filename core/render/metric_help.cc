#include "core/render/metric_help.hpp"

#include <algorithm>
#include <optional>

#include "core/base/json_writer.hpp"
#include "core/base/text.hpp"
#include "core/expression/expression.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/map_labels.hpp"
#include "core/registry/metric_def.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

// The width of the names of facts, including blanks: the column where facts begin.
constexpr std::size_t kFactColumn = 13;

// All facts about a metric; empty if unknown or not applicable.
struct MetricFacts {
  std::string name, description, formula, entity, applies_to, unit, family, section, newtype, rule,
      rule_description;
  std::string source, kernel_writer, since, caveat, file_path, finding;
  std::string parts;                               // of a histogram
  std::vector<std::string> labels;                 // of a map
  std::string column, column_floor, column_order;  // of the first screen
  std::vector<std::string> tags, config_gates, used_by, plugins;
  bool is_derived = false;
  bool is_of_capture = false;  // the capture itself fills it, not a plugin
};

// Returns the derived metrics whose formula reads this metric.
std::vector<std::string> find_readers(const MetricCatalog& catalog, std::string_view name) {
  std::vector<std::string> readers;
  for (const DerivedDef& def : catalog.derived_metrics()) {
    const auto inputs = inputs_of(def.expression);
    if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) readers.push_back(def.name);
  }
  return readers;
}

// --- columns of the first screen

std::string describe_column(const Headline& headline) {
  switch (headline.shown) {
    case CTPROF_SHOWN_PERCENT: return "in percent of one CPU, or of the elapsed time";
    case CTPROF_SHOWN_LEVEL: return "the value when the window closes, and its change";
    default: return "per second";
  }
}

// Describes the floor of a column, below which a value is quiet; per second for rates.
std::string describe_floor(const Headline& headline, const std::string& unit) {
  if (headline.shown == CTPROF_SHOWN_PERCENT)
    return format_brief(100 * headline.floor / 1e9, "percent") + " %";
  const std::string floor = format_brief(headline.floor, unit);
  if (headline.shown != CTPROF_SHOWN_LEVEL) return floor + " per second";
  return unit == "bytes"
             ? "a change of " + floor + ", or of 1 % of the host's memory if that is less"
             : "a change of " + floor;
}

// Describes how a figure influences the order of rows (compare/report/screen_weight.hpp).
std::string describe_order(const Headline& headline, const std::string& unit,
                           const std::string& role) {
  if (headline.orders_by_change)
    return headline.shown == CTPROF_SHOWN_LEVEL
               ? "does not order rows, because it is not a share of the machine"
               : "does not order rows, because it includes voluntary sleep";
  if (headline.shown == CTPROF_SHOWN_PERCENT) {
    const bool is_of_cpus = role == "run-time" || role == "wait-time";
    return is_of_cpus
               ? "orders rows by its share of the time of all CPUs, at most 1"
               : "orders rows by its share of the time of all CPUs, with at most one second per "
                 "second for each group";
  }
  if (unit != "bytes")
    return "does not order rows, because the CPU time includes the cost of such events";
  return headline.shown == CTPROF_SHOWN_LEVEL
             ? "orders rows by its share of the host's memory"
             : "orders rows by its share of the bytes that the host's "
               "disks moved, times the share of time "
               "in which they were busy";
}

template <class Def>
void add_column(const Def& def, MetricFacts& facts) {
  if (!def.headline) return;
  facts.column = def.headline->label + ", " + describe_column(*def.headline);
  facts.column_floor = describe_floor(*def.headline, def.unit);
  facts.column_order = describe_order(*def.headline, def.unit, def.role);
}

// Returns the facts that stored and derived metrics have in common.
template <class Def>
MetricFacts collect_common_facts(const Def& def, const MetricCatalog& catalog) {
  MetricFacts facts;
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
  facts.used_by = find_readers(catalog, def.name);
  add_column(def, facts);
  return facts;
}

MetricFacts collect_facts(const MetricDef& def, const MetricCatalog& catalog) {
  MetricFacts facts = collect_common_facts(def, catalog);
  const ctprof_rule* rule = catalog.rules().find(def.rule);
  facts.newtype = def.newtype;
  facts.rule = def.rule;
  facts.rule_description = rule && rule->description ? rule->description : "";
  facts.source = def.source;
  facts.kernel_writer = def.kernel_writer;
  facts.since = def.since;
  facts.file_path = def.file_path == "none" ? "" : def.file_path;
  facts.plugins = catalog.get_plugins(def.name);
  facts.is_of_capture = def.family == "identity" || def.name == kThreadCount;
  const auto labels = label_names(def.labels);
  facts.labels.assign(labels.begin(), labels.end());
  if (is_histogram(def)) {
    facts.parts =
        "count: how many values; p50, p99, p99.9 and max: half of the values, 99 %, "
        "99.9 % or all of them are at most this large. Each is the largest value of its "
        "bucket, so the real one is at least two thirds of it. " +
        def.name + "[p99] names a part";
    if (def.headline) facts.column = def.headline->label + ", the p99 of the values in the window";
  }
  return facts;
}

MetricFacts collect_facts(const DerivedDef& def, const MetricCatalog& catalog) {
  MetricFacts facts = collect_common_facts(def, catalog);
  facts.formula = def.expression;
  facts.plugins = {def.plugin};
  facts.is_derived = true;
  if (def.finding)
    facts.finding = "from " + format_brief(def.finding->at_least, def.unit) +
                    (def.family == "cumulative" ? " per second" : "") + ": a group that " +
                    def.finding->statement;
  return facts;
}

// A page of named facts; facts without a value are omitted.
class HelpPage {
 public:
  HelpPage(const std::string& name, const std::string& description, const TextLayout& layout)
      : layout_(layout) {
    out_ = apply_tint(make_printable(name), Tint::Heading, layout.use_color) + "\n";
    out_ += wrap_words(make_printable(description), layout.width);
  }

  void add_fact(std::string name, const std::string& text) {
    if (text.empty()) return;
    name.resize(kFactColumn, ' ');
    const std::size_t width = layout_.width > 2 * kFactColumn ? layout_.width - kFactColumn : 0;
    std::string_view remaining;
    const std::string lines = wrap_words(make_printable(text), width);
    for (remaining = lines; !remaining.empty(); name.assign(kFactColumn, ' ')) {
      const auto end = remaining.find('\n');
      std::string_view line = remaining.substr(0, end);
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      out_ += name + std::string(line) + "\n";
      remaining.remove_prefix(end + 1);
    }
  }

  const std::string& text() const { return out_; }

 private:
  TextLayout layout_;
  std::string out_;
};

std::string describe_rule(const MetricFacts& facts) {
  if (facts.is_derived) return "computed from the group's values of its inputs";
  return facts.rule + (facts.rule_description.empty() ? "" : ": " + facts.rule_description);
}

std::string describe_plugins(const MetricFacts& facts) {
  if (!facts.plugins.empty()) return join_texts(facts.plugins);
  return facts.is_of_capture ? "the capture itself" : "no loaded plugin";
}

std::string format_page(const MetricFacts& facts, const TextLayout& layout) {
  HelpPage page(facts.name, facts.description, layout);
  if (facts.is_derived) page.add_fact("formula", facts.name + " = " + facts.formula);
  page.add_fact("column", facts.column);
  if (!facts.column_floor.empty()) {
    page.add_fact("quiet", "a group is quiet below " + facts.column_floor);
    page.add_fact(
        "order",
        "rows are ordered by their largest share of the machine, which * marks; this column " +
            facts.column_order);
  }
  page.add_fact("entity",
                facts.entity + (facts.applies_to == "leader" ? " that leads its process" : ""));
  page.add_fact("unit", facts.unit);
  page.add_fact("family", facts.family);
  page.add_fact("section", facts.section);
  page.add_fact("tags", join_texts(facts.tags));
  page.add_fact("newtype", facts.newtype);
  page.add_fact("rule", describe_rule(facts));
  page.add_fact("parts", facts.parts);
  page.add_fact("labels", join_texts(facts.labels));
  page.add_fact("read from", facts.source);
  page.add_fact("written by", facts.kernel_writer);
  page.add_fact("config", join_texts(facts.config_gates));
  page.add_fact("since", facts.since);
  page.add_fact("caveat", facts.caveat);
  page.add_fact("finding", facts.finding);
  page.add_fact("used by", join_texts(facts.used_by));
  page.add_fact("in the file", facts.file_path);
  page.add_fact(facts.is_derived ? "defined by" : "filled by", describe_plugins(facts));
  return page.text();
}

// Builds one JSON object; null represents empty values.
class ObjectBuilder {
 public:
  ObjectBuilder() {
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
  JsonWriter out_{Escape::Unprintable};
};

std::string format_json(const MetricFacts& facts) {
  ObjectBuilder members;
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
  members.add("labels", facts.labels);
  members.add("goes_into", facts.used_by);
  members.add("file_path", facts.file_path);
  members.add("plugins", facts.plugins);
  members.add("column", facts.column);
  members.add("column_floor", facts.column_floor);
  members.add("column_order", facts.column_order);
  return members.text();
}

// The first column of every screen has no headline. It also has the name of an identity column in
// windows with merged rows, whose threads it includes.
MetricFacts add_threads_column(MetricFacts facts) {
  facts.column = std::string(kThreads) +
                 ", the number when the window closes; +3 -2: threads that started and exited "
                 "inside it";
  return facts;
}

// Finds a metric by its name or by the label of its column.
std::optional<MetricFacts> find_facts(const MetricCatalog& catalog, std::string_view word) {
  if (word == kThreads) word = kThreadCount;
  const std::string name = catalog.find_column_metric(word).value_or(std::string(word));
  if (const DerivedDef* derived = catalog.find_derived(name))
    return collect_facts(*derived, catalog);
  const MetricDef* def = catalog.find(name);
  if (!def) return std::nullopt;
  const MetricFacts facts = collect_facts(*def, catalog);
  return name == kThreadCount ? add_threads_column(facts) : facts;
}

}  // namespace

std::string format_metric_help(const MetricCatalog& catalog, std::string_view name,
                               const TextLayout& layout) {
  const auto facts = find_facts(catalog, name);
  return facts ? format_page(*facts, layout) : "";
}

std::string format_metric_help_json(const MetricCatalog& catalog, std::string_view name) {
  const auto facts = find_facts(catalog, name);
  return facts ? format_json(*facts) : "";
}

}  // namespace ctprof
