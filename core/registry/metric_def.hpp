// Definitions of metrics, owned by the core. They are read from a plugin's table, or from the
// registry inside a file.
//
// These are values that any thread may copy. A MetricDef contains about a kilobyte of text, and a
// capture of all metrics has two hundred of them, so most holders keep a SharedMetric. See also
// registry.hpp for the sources of a metric, and snapshot/column.hpp for its values.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctprof/abi.h"

namespace ctprof {

// The kinds of rows. An entity of a plugin has a number from kBuiltinEntities on, which its name
// gets when this process first uses it. Files contain names, never numbers.
enum class Entity : ctprof_entity {
  Thread = CTPROF_THREAD,
  Process = CTPROF_PROCESS,
  Cgroup = CTPROF_CGROUP,
  Host = CTPROF_HOST
};
inline constexpr std::size_t kBuiltinEntities = 4;
// The number of different names that plugins and files can use in one process.
inline constexpr std::size_t kMaxPluginEntities = 12;
inline constexpr std::size_t kEntities = kBuiltinEntities + kMaxPluginEntities;

constexpr bool is_of_plugin(Entity entity) {
  return static_cast<std::size_t>(entity) >= kBuiltinEntities;
}
// Returns the entities whose rows are grouped: all except the host, which is one group.
constexpr std::array<Entity, kEntities - 1> grouped_entities() {
  std::array<Entity, kEntities - 1> entities{};
  for (std::size_t number = 0, at = 0; number < kEntities; ++number)
    if (static_cast<Entity>(number) != Entity::Host) entities[at++] = static_cast<Entity>(number);
  return entities;
}
// Returns whether the text may name an entity of a plugin.
bool is_entity_name(std::string_view text);
// Returns the entity of a plugin with this name, or none if no plugin or file has used the name.
std::optional<Entity> find_plugin_entity(std::string_view name);
// Returns the entity of a plugin with this name; the first use of a name assigns a number to it.
// Returns none if it is not a name, or if there are too many. Any thread may call it.
std::optional<Entity> find_or_add_plugin_entity(std::string_view name);

enum class Storage : ctprof_storage {
  U64 = CTPROF_U64,
  I64 = CTPROF_I64,
  F64 = CTPROF_F64,
  Bool = CTPROF_BOOL,
  String = CTPROF_STRING,
  Bitset = CTPROF_BITSET,
  Map = CTPROF_MAP,
  Array = CTPROF_ARRAY,
  Stacks = CTPROF_STACKS,  // only from recorders, and only in windows
};

// The kinds of reduction of rules, indexed by ctprof_reduction. The words are stored in files.
inline constexpr std::array<std::string_view, 8> kReductions{
    "otherwise", "sum", "max", "min", "range", "mode", "affinity", "by-key"};

// Convert to and from "thread", "process", "cgroup", "host"; parse() returns false for any other
// word, also for the name of an entity of a plugin, which name() returns.
std::string_view name(Entity entity);
bool parse(std::string_view word, Entity& entity);
// Convert to and from "u64", "i64", "f64", "bool", "string", "bitset", "map", "array", "stacks".
std::string_view name(Storage storage);
bool parse(std::string_view word, Storage& storage);

// A column of the overview; see ctprof_headline.
struct Headline {
  std::string label;
  std::uint32_t order = 0;
  ctprof_shown shown = CTPROF_SHOWN_PERCENT;
  bool orders_by_change = false;
  double floor = 0;
  bool operator==(const Headline&) const = default;
};

struct MetricDef {
  std::string name;
  Entity entity = Entity::Thread;
  Storage storage = Storage::U64;
  std::string newtype;
  std::string rule;
  // The built-in rule that replaces a plugin's own rule if that plugin is missing.
  std::string fallback;
  std::string reduction;  // how the rule reduces readings: "sum", "max" ... of kReductions
  std::string unit;
  std::string family;  // cumulative, peak, gauge, categorical, limit, identity
  std::string section;
  std::string sched_class;
  std::string config_gates;
  std::string applies_to;
  std::string since;
  std::string source;
  std::string description;
  std::string kernel_writer;
  std::string caveat;
  std::string file_path;     // "threads[].nice", "cgroup_stats[].cpu.weight", or "none"
  std::string file_aliases;  // other spellings of the last key, separated by commas
  std::string file_unit;     // "", "cpus", "0-or-1"
  std::string file_absent;   // JSON for a cell without value, or "omit"
  std::string mark;
  std::string map_keys;
  std::string plugin;  // the plugin that declared it first
  bool is_hidden = false;
  bool is_mark = false;
  bool is_setting = false;  // chosen by the user or administrator; reported when it changes
  bool costly = false;
  // Whether the value covers only the window, although other metrics of its family cover the whole
  // life of a thread (CTPROF_METRIC_OF_WINDOW).
  bool covers_window = false;
  std::optional<Headline> headline{};
  std::string role{};  // one of kRoles, or empty
  // Of a map: the names of one or two labels of each key, separated by a comma (map_labels.hpp).
  // Files contain them in a place of their own (file/layout/label_part.hpp).
  std::string labels{};
  bool operator==(const MetricDef&) const = default;
};

// An immutable definition that copies share. It converts to the definition. Any thread may use it.
// A moved-from object is empty.
class SharedMetric {
 public:
  SharedMetric(MetricDef&& def) : def_(std::make_shared<const MetricDef>(std::move(def))) {}
  SharedMetric(const MetricDef& def) : def_(std::make_shared<const MetricDef>(def)) {}

  operator const MetricDef&() const { return *def_; }
  const MetricDef& operator*() const { return *def_; }
  const MetricDef* operator->() const { return def_.get(); }
  // Returns whether the definitions are equal; fast if they are shared.
  bool operator==(const SharedMetric& other) const {
    return def_ == other.def_ || *def_ == *other.def_;
  }

 private:
  std::shared_ptr<const MetricDef> def_;
};

// A text of a definition: its name in a file, its member in a plugin's table and in MetricDef, and
// its default. `define`, the file and the help iterate over this table.
struct MetricText {
  const char* name;
  const char* ctprof_metric::*source_field;
  std::string MetricDef::*target_field;
  const char* default_text = "";  // used if neither the newtype nor the entity determines the text
};

// To add a text, add a member to ctprof_metric and sdk::About, a member above, and a line here.
inline constexpr MetricText kMetricTexts[] = {
    {"unit", &ctprof_metric::unit, &MetricDef::unit},
    {"family", &ctprof_metric::family, &MetricDef::family},
    {"section", &ctprof_metric::section, &MetricDef::section, "primary"},
    {"sched_class", &ctprof_metric::sched_class, &MetricDef::sched_class},
    {"config_gates", &ctprof_metric::config_gates, &MetricDef::config_gates},
    {"applies_to", &ctprof_metric::applies_to, &MetricDef::applies_to, "all"},
    {"since", &ctprof_metric::since, &MetricDef::since},
    {"source", &ctprof_metric::source, &MetricDef::source},
    {"description", &ctprof_metric::description, &MetricDef::description},
    {"kernel_writer", &ctprof_metric::kernel_writer, &MetricDef::kernel_writer},
    {"caveat", &ctprof_metric::caveat, &MetricDef::caveat},
    {"file_path", &ctprof_metric::file_path, &MetricDef::file_path},
    {"file_aliases", &ctprof_metric::file_aliases, &MetricDef::file_aliases},
    {"file_unit", &ctprof_metric::file_unit, &MetricDef::file_unit},
    {"file_absent", &ctprof_metric::file_absent, &MetricDef::file_absent, "omit"},
    {"mark", &ctprof_metric::mark, &MetricDef::mark},
    {"map_keys", &ctprof_metric::map_keys, &MetricDef::map_keys},
};

// Copies a definition from a plugin's table, with the defaults of its newtype and entity. `entity`
// replaces CTPROF_ENTITY_OF_SOURCE. REQUIRES: check_metric() accepted it.
MetricDef define(const ctprof_metric& metric, std::string_view plugin,
                 Entity entity = Entity::Thread);

// Returns the path in the file of a metric that does not specify one; "none" for metrics of
// entities of plugins, which files store in another way (file/columns/plugin_entities.hpp).
std::string default_file_path(Entity entity, std::string_view name);

// Returns whether two definitions agree on newtype, rule, unit, entity and storage.
bool has_same_meaning(const MetricDef& a, const MetricDef& b);

// Returns whether the cells are buckets of a histogram (ctprof/abi/histogram.h).
bool is_histogram(const MetricDef& def);

// The definition of a derived metric; it owns its texts.
// A sentence about groups with a large value; see ctprof_finding.
struct FindingDef {
  std::string statement;
  double at_least = 0;
  double weight = 0;
  std::uint32_t next = CTPROF_NEXT_FIGURES;
  bool operator==(const FindingDef&) const = default;
};

struct DerivedDef {
  std::string name;
  Entity entity = Entity::Thread;
  std::string expression;
  std::string unit;
  std::string family;
  std::string section;
  std::string sched_class;
  std::string config_gates;
  std::string applies_to;
  std::string description;
  std::string caveat;
  std::string plugin;
  std::optional<Headline> headline{};
  std::string role{};
  std::optional<FindingDef> finding{};
  bool operator==(const DerivedDef&) const = default;
};

DerivedDef define(const ctprof_derived& derived, std::string_view plugin,
                  Entity entity = Entity::Thread);

// The metrics and the top-level objects of a capture or a file.
struct Vocabulary {
  std::vector<SharedMetric> metrics;
  // Top-level keys of the file that are null when no source fills them.
  std::vector<std::string> objects;

  // Returns null if no metric has that name.
  const MetricDef* find(std::string_view name) const;
};

// Returns short tags: the scheduling class, then "dead" if no kernel updates the metric any more,
// then its kernel options without CONFIG_.
std::vector<std::string> tags_of(const MetricDef& def);
std::vector<std::string> tags_of(const DerivedDef& def);

}  // namespace ctprof
