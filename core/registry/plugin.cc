#include "core/registry/plugin.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/registry/checks.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kMaxItems = 4096;

// Copies a struct from a table that may be shorter or longer than ours; missing fields are zero.
template <class T>
T copy_struct(const void* source, std::size_t size) {
  T item{};
  std::memcpy(static_cast<void*>(&item), source, std::min(size, sizeof item));
  return item;
}

// Copies the items of a constant array, each of which must have at least the size of version 1.
template <class T>
Result<std::vector<T>> read_items(const ctprof_array& array, std::string_view array_name) {
  std::vector<T> items;
  if (array.count == 0) return items;
  if (!array.items)
    return Error{std::string(array_name) + ": NULL where an array of " +
                 std::to_string(array.count) + " must be"};
  if (array.item_size < kSizeV1<T>)
    return Error{size_error_message<T>("an item of " + std::string(array_name), array.item_size)};
  if (array.count > kMaxItems)
    return Error{std::string(array_name) + ": more than " + std::to_string(kMaxItems)};
  for (std::uint32_t i = 0; i < array.count; ++i)
    items.push_back(copy_struct<T>(
        static_cast<const char*>(array.items) + std::size_t{i} * array.item_size, array.item_size));
  return items;
}

// Calls `read` on each item of an array, and stops at the first error.
template <class T, class Reader>
Result<void> for_each_item(const ctprof_array& array, std::string_view array_name, Reader read) {
  CTPROF_TRY_VALUE(auto items, read_items<T>(array, array_name));
  for (const T& item : items) CTPROF_TRY(read(item));
  return {};
}

// The state of reading a plugin. A plugin with rules of its own shares no definitions, because a
// definition includes properties of its rule.
struct ReadState {
  const DeclaredMetrics& shared_definitions;
  DeclaredMetrics* new_declarations;  // may be null
  Plugin plugin{};
};

SharedMetric make_definition(const ctprof_metric& metric, const Plugin& plugin, Entity entity) {
  MetricDef def = define(metric, plugin.name, entity);
  for (const ctprof_rule& rule : plugin.rules)
    if (def.rule == rule.name)
      def.fallback = rule.fallback, def.reduction = kReductions[rule.reduction];
  return SharedMetric(std::move(def));
}

// `source`: the source that offers the metric, or null.
Result<SharedMetric> read_metric(const ctprof_metric& metric_in_table, ReadState& state,
                                 const SourceTable* source = nullptr) {
  const Plugin& plugin = state.plugin;
  if (metric_in_table.size < kSizeV1<ctprof_metric>)
    return Error{size_error_message<ctprof_metric>("a metric", metric_in_table.size)};
  const auto metric = copy_struct<ctprof_metric>(&metric_in_table, metric_in_table.size);
  const bool may_share = plugin.rules.empty();
  if (const SharedMetric* shared = may_share ? state.shared_definitions.find(metric) : nullptr)
    return *shared;
  CTPROF_TRY(check_metric(metric, plugin));
  const bool is_of_source = metric.entity == CTPROF_ENTITY_OF_SOURCE;
  if (is_of_source && (!source || !is_of_plugin(source->entity)))
    return Error{"metric '" + std::string(metric.name) +
                 "' is about the entity of its source, but no source of an entity offers it"};
  SharedMetric definition =
      make_definition(metric, plugin, source ? source->entity : Entity::Thread);
  if (may_share && plugin.is_layout && state.new_declarations)
    state.new_declarations->add(metric, definition);
  return definition;
}

// Returns whether this ctprof does not support the part, and records the reason once.
template <class Table>
bool record_if_unsupported(const Table& table, Plugin& plugin) {
  std::string reason = find_unsupported_reason(table);
  if (reason.empty()) return false;
  if (std::ranges::find(plugin.unsupported_parts, reason) == plugin.unsupported_parts.end())
    plugin.unsupported_parts.push_back(std::move(reason));
  return true;
}

Result<void> read_offer(const ctprof_offer& offer, ReadState& state, SourceTable& source) {
  if (!offer.metric) return Error{"source '" + source.name + "' offers a metric that is NULL"};
  if (record_if_unsupported(*offer.metric, state.plugin)) {
    source.offers.push_back({.metric = MetricDef{}, .rank = offer.rank, .is_supported = false});
    return {};
  }
  CTPROF_TRY_VALUE(auto metric, read_metric(*offer.metric, state, &source));
  CTPROF_TRY(check_offer(metric, source));
  source.offers.push_back({std::move(metric), offer.rank});
  return {};
}

Result<void> read_input_column(const char* name, SourceTable& source) {
  if (!name || !*name) return Error{"source '" + source.name + "' reads a column without a name"};
  std::string_view column = name;
  const bool is_optional = column.ends_with('?');
  if (is_optional) column.remove_suffix(1);
  source.reads.push_back({std::string(column), is_optional});
  return {};
}

// Reads a derived metric of an entity of the plugin. Several sources may declare the same one.
Result<void> read_derived_of_entity(const ctprof_derived& derived, Entity entity,
                                    ReadState& state) {
  CTPROF_TRY(check_derived(derived, true));
  DerivedDef def = define(derived, state.plugin.name, entity);
  auto& all = state.plugin.derived_metrics;
  if (std::ranges::find(all, def) == all.end()) all.push_back(std::move(def));
  return {};
}

// Sets the kind of the source's rows.
Result<void> read_entity(ReadState& state, SourceTable& source) {
  source.entity = entity_of_stage(source.table.stage);
  if (!has_plugin_entity(source.table.stage)) return {};
  CTPROF_TRY(check_entity(source.table));
  const auto type = copy_struct<ctprof_entity_type>(source.table.entity, source.table.entity->size);
  const auto entity = find_or_add_plugin_entity(type.name);
  if (!entity)
    return Error{"source '" + source.name + "' has the entity '" + type.name +
                 "', but plugins and files can have at most " + std::to_string(kMaxPluginEntities) +
                 " different ones"};
  source.entity = *entity;
  source.entity_description = type.description ? type.description : "";
  return for_each_item<ctprof_derived>(
      type.derived, "derived metrics of the entity '" + std::string(type.name) + "'",
      [&](const ctprof_derived& derived) {
        return read_derived_of_entity(derived, *entity, state);
      });
}

Result<void> read_source(const ctprof_source& table, ReadState& state) {
  if (record_if_unsupported(table, state.plugin)) return {};
  CTPROF_TRY(check_source(table));
  SourceTable source{.table = table, .name = table.name, .offers = {}, .reads = {}};
  CTPROF_TRY(read_entity(state, source));
  source.offers.reserve(std::min(table.offers.count, kMaxItems));
  CTPROF_TRY(for_each_item<ctprof_offer>(
      table.offers, "offers of source '" + source.name + "'",
      [&](const ctprof_offer& offer) { return read_offer(offer, state, source); }));
  CTPROF_TRY(for_each_item<const char*>(
      table.reads, "reads of source '" + source.name + "'",
      [&](const char* name) { return read_input_column(name, source); }));
  CTPROF_TRY(check_lister(source));
  state.plugin.sources.push_back(std::move(source));
  return {};
}

Result<void> read_declared(const ctprof_metric& metric, ReadState& state) {
  if (record_if_unsupported(metric, state.plugin)) return {};
  CTPROF_TRY_VALUE(auto def, read_metric(metric, state));
  state.plugin.declared_metrics.push_back(std::move(def));
  return {};
}

Result<void> read_derived(const ctprof_derived& derived, ReadState& state) {
  Plugin& plugin = state.plugin;
  CTPROF_TRY(check_derived(derived));
  plugin.derived_metrics.push_back(define(derived, plugin.name));
  return {};
}

Result<void> read_rule(const ctprof_rule& rule, ReadState& state) {
  Plugin& plugin = state.plugin;
  CTPROF_TRY(check_rule(rule));
  plugin.rules.push_back(rule);
  return {};
}

Result<void> read_option(const ctprof_option& option, ReadState& state) {
  Plugin& plugin = state.plugin;
  CTPROF_TRY(check_option(option, plugin));
  const auto text_or_empty = [](const char* text) { return std::string(text ? text : ""); };
  plugin.options.push_back(
      {option.key, text_or_empty(option.fallback), text_or_empty(option.description)});
  return {};
}

Result<void> read_object(const char* key, ReadState& state) {
  if (!key || !*key) return Error{"a top-level key of the file without a name"};
  state.plugin.objects.emplace_back(key);
  return {};
}

// Checks the plugin's flag RECORDER, which decides whether the plugin is loaded.
Result<void> check_recorder(const ctprof_plugin& table, const Plugin& plugin) {
  if ((table.flags & CTPROF_PLUGIN_RECORDER) == 0) return {};
  for (const SourceTable& source : plugin.sources)
    if (source.table.stage != CTPROF_STAGE_RECORD)
      return Error{"its flag CTPROF_PLUGIN_RECORDER is set, but its source '" + source.name +
                   "' does not record"};
  return {};
}

}  // namespace

Result<Plugin> read_plugin(const ctprof_plugin& exported, std::size_t available_bytes,
                           const DeclaredMetrics& shared_definitions,
                           DeclaredMetrics* new_declarations) {
  if (available_bytes < 2 * sizeof(std::uint32_t))
    return Error{"its symbol 'ctprof_plugin' is not a table"};
  if (exported.abi != CTPROF_ABI)
    return Error{"it uses ABI " + std::to_string(exported.abi) + ", this ctprof uses " +
                 std::to_string(CTPROF_ABI)};
  if (exported.size < kSizeV1<ctprof_plugin>)
    return Error{size_error_message<ctprof_plugin>("its table", exported.size)};
  if (available_bytes < exported.size)
    return Error{"its table states size " + std::to_string(exported.size) + ", but has " +
                 std::to_string(available_bytes)};
  const auto table = copy_struct<ctprof_plugin>(&exported, exported.size);
  ReadState state{.shared_definitions = shared_definitions, .new_declarations = new_declarations};
  Plugin& plugin = state.plugin;
  CTPROF_TRY(check_plugin(table));
  plugin.name = table.name;
  plugin.version = table.version ? table.version : "";
  plugin.description = table.description ? table.description : "";
  plugin.abi = table.abi;
  plugin.is_layout = (table.flags & CTPROF_PLUGIN_LAYOUT) != 0;
  plugin.runs_always = (table.flags & CTPROF_PLUGIN_ALWAYS) != 0;
  plugin.opens_early = (table.flags & CTPROF_PLUGIN_AHEAD) != 0;
  plugin.open = table.open_plugin;
  plugin.close = table.close_plugin;

  plugin.declared_metrics.reserve(std::min(table.metrics.count, kMaxItems));
  const auto bind_state = [&](auto reader) {
    return [&state, reader](const auto& item) { return reader(item, state); };
  };
  CTPROF_TRY(for_each_item<ctprof_rule>(table.rules, "rules", bind_state(read_rule)));
  CTPROF_TRY(for_each_item<ctprof_metric>(table.metrics, "metrics", bind_state(read_declared)));
  CTPROF_TRY(for_each_item<ctprof_source>(table.sources, "sources", bind_state(read_source)));
  CTPROF_TRY(check_recorder(table, plugin));
  CTPROF_TRY(
      for_each_item<ctprof_derived>(table.derived, "derived metrics", bind_state(read_derived)));
  CTPROF_TRY(for_each_item<const char*>(table.objects, "objects", bind_state(read_object)));
  CTPROF_TRY(for_each_item<ctprof_option>(table.options, "options", bind_state(read_option)));
  return std::move(state.plugin);
}

}  // namespace ctprof
