#include "core/registry/plugin.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/registry/checks.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kMostItems = 4096;

// Copies a struct from a table that may be shorter or longer than ours; missing fields are zero.
template <class T>
T copied(const void* from, std::size_t size) {
  T item{};
  std::memcpy(static_cast<void*>(&item), from, std::min(size, sizeof item));
  return item;
}

// Copies the items of a constant array, each of which must have at least the size of version 1.
template <class T>
Result<std::vector<T>> items_of(const ctprof_array& array, std::string_view what) {
  std::vector<T> items;
  if (array.count == 0) return items;
  if (!array.items)
    return Error{std::string(what) + ": NULL where an array of " + std::to_string(array.count) +
                 " must be"};
  if (array.item_size < kSizeV1<T>)
    return Error{too_small<T>("an item of " + std::string(what), array.item_size)};
  if (array.count > kMostItems)
    return Error{std::string(what) + ": more than " + std::to_string(kMostItems)};
  for (std::uint32_t i = 0; i < array.count; ++i)
    items.push_back(copied<T>(
        static_cast<const char*>(array.items) + std::size_t{i} * array.item_size, array.item_size));
  return items;
}

// Calls `read` on each item of an array, and stops at the first error.
template <class T, class Reader>
Result<void> each(const ctprof_array& array, std::string_view what, Reader read) {
  auto items = items_of<T>(array, what);
  if (!items) return items.error();
  for (const T& item : *items)
    if (auto done = read(item); !done) return done.error();
  return {};
}

// The state of reading a plugin. A plugin with rules of its own shares no definitions, because a
// definition includes properties of its rule.
struct Reading {
  const DeclaredMetrics& known;
  DeclaredMetrics* declares;  // may be null
  Plugin plugin{};
};

SharedMetric defined(const ctprof_metric& metric, const Plugin& plugin) {
  MetricDef def = define(metric, plugin.name);
  for (const ctprof_rule& rule : plugin.rules)
    if (def.rule == rule.name)
      def.fallback = rule.fallback, def.reduction = kReductions[rule.reduction];
  return SharedMetric(std::move(def));
}

Result<SharedMetric> read_metric(const ctprof_metric& given, Reading& reading) {
  const Plugin& plugin = reading.plugin;
  if (given.size < kSizeV1<ctprof_metric>)
    return Error{too_small<ctprof_metric>("a metric", given.size)};
  const auto metric = copied<ctprof_metric>(&given, given.size);
  const bool shares = plugin.rules.empty();
  if (const SharedMetric* same = shares ? reading.known.find(metric) : nullptr) return *same;
  if (auto fits = check_metric(metric, plugin); !fits) return fits.error();
  SharedMetric made = defined(metric, plugin);
  if (shares && plugin.layout && reading.declares) reading.declares->add(metric, made);
  return made;
}

// Whether this ctprof does not support it; the reason is recorded once.
template <class Table>
bool is_unserved(const Table& table, Plugin& plugin) {
  std::string why = unserved(table);
  if (why.empty()) return false;
  if (std::ranges::find(plugin.unserved, why) == plugin.unserved.end())
    plugin.unserved.push_back(std::move(why));
  return true;
}

Result<void> read_offer(const ctprof_offer& offer, Reading& reading, SourceTable& source) {
  if (!offer.metric) return Error{"source '" + source.name + "' offers a metric that is NULL"};
  if (is_unserved(*offer.metric, reading.plugin)) {
    source.offers.push_back({.metric = MetricDef{}, .rank = offer.rank, .served = false});
    return {};
  }
  auto metric = read_metric(*offer.metric, reading);
  if (!metric) return metric.error();
  if (auto fits = check_offer(*metric, source); !fits) return fits.error();
  source.offers.push_back({std::move(*metric), offer.rank});
  return {};
}

Result<void> read_read(const char* name, SourceTable& source) {
  if (!name || !*name) return Error{"source '" + source.name + "' reads a column without a name"};
  std::string_view column = name;
  const bool optional = column.ends_with('?');
  if (optional) column.remove_suffix(1);
  source.reads.push_back({std::string(column), optional});
  return {};
}

Result<void> read_source(const ctprof_source& table, Reading& reading) {
  if (is_unserved(table, reading.plugin)) return {};
  if (auto fits = check_source(table); !fits) return fits.error();
  SourceTable source{.table = table, .name = table.name, .offers = {}, .reads = {}};
  source.offers.reserve(std::min(table.offers.count, kMostItems));
  auto offers = each<ctprof_offer>(
      table.offers, "offers of source '" + source.name + "'",
      [&](const ctprof_offer& offer) { return read_offer(offer, reading, source); });
  if (!offers) return offers.error();
  auto reads = each<const char*>(table.reads, "reads of source '" + source.name + "'",
                                 [&](const char* name) { return read_read(name, source); });
  if (!reads) return reads.error();
  if (auto fits = check_lister(source); !fits) return fits.error();
  reading.plugin.sources.push_back(std::move(source));
  return {};
}

Result<void> read_declared(const ctprof_metric& metric, Reading& reading) {
  if (is_unserved(metric, reading.plugin)) return {};
  auto def = read_metric(metric, reading);
  if (!def) return def.error();
  reading.plugin.declared.push_back(std::move(*def));
  return {};
}

Result<void> read_derived(const ctprof_derived& derived, Reading& reading) {
  Plugin& plugin = reading.plugin;
  if (auto fits = check_derived(derived); !fits) return fits.error();
  plugin.derived.push_back(define(derived, plugin.name));
  return {};
}

Result<void> read_rule(const ctprof_rule& rule, Reading& reading) {
  Plugin& plugin = reading.plugin;
  if (auto fits = check_rule(rule); !fits) return fits.error();
  plugin.rules.push_back(rule);
  return {};
}

Result<void> read_option(const ctprof_option& option, Reading& reading) {
  Plugin& plugin = reading.plugin;
  if (auto fits = check_option(option, plugin); !fits) return fits.error();
  const auto text = [](const char* given) { return std::string(given ? given : ""); };
  plugin.options.push_back({option.key, text(option.fallback), text(option.description)});
  return {};
}

Result<void> read_object(const char* key, Reading& reading) {
  if (!key || !*key) return Error{"a top-level key of the file without a name"};
  reading.plugin.objects.emplace_back(key);
  return {};
}

// Checks the plugin's flag RECORDER, which decides whether the plugin is loaded.
Result<void> check_recorder(const ctprof_plugin& table, const Plugin& plugin) {
  if ((table.flags & CTPROF_PLUGIN_RECORDER) == 0) return {};
  for (const SourceTable& source : plugin.sources)
    if (source.table.stage != CTPROF_STAGE_RECORD)
      return Error{"it says that it only records, but its source '" + source.name + "' does not"};
  return {};
}

}  // namespace

Result<Plugin> read_plugin(const ctprof_plugin& given, std::size_t room,
                           const DeclaredMetrics& known, DeclaredMetrics* declares) {
  if (room < 2 * sizeof(std::uint32_t)) return Error{"its ctprof_plugin is no table"};
  if (given.abi != CTPROF_ABI)
    return Error{"it speaks ABI " + std::to_string(given.abi) + ", this ctprof speaks " +
                 std::to_string(CTPROF_ABI)};
  if (given.size < kSizeV1<ctprof_plugin>)
    return Error{too_small<ctprof_plugin>("its table", given.size)};
  if (room < given.size)
    return Error{"its table says that it is of size " + std::to_string(given.size) + ", but has " +
                 std::to_string(room)};
  const auto table = copied<ctprof_plugin>(&given, given.size);
  Reading reading{.known = known, .declares = declares};
  Plugin& plugin = reading.plugin;
  if (auto fits = check_plugin(table); !fits) return fits.error();
  plugin.name = table.name;
  plugin.version = table.version ? table.version : "";
  plugin.description = table.description ? table.description : "";
  plugin.abi = table.abi;
  plugin.layout = (table.flags & CTPROF_PLUGIN_LAYOUT) != 0;
  plugin.always = (table.flags & CTPROF_PLUGIN_ALWAYS) != 0;
  plugin.ahead = (table.flags & CTPROF_PLUGIN_AHEAD) != 0;
  plugin.open = table.open_plugin;
  plugin.close = table.close_plugin;

  plugin.declared.reserve(std::min(table.metrics.count, kMostItems));
  const auto with = [&](auto reader) {
    return [&reading, reader](const auto& item) { return reader(item, reading); };
  };
  if (auto ok = each<ctprof_rule>(table.rules, "rules", with(read_rule)); !ok) return ok.error();
  if (auto ok = each<ctprof_metric>(table.metrics, "metrics", with(read_declared)); !ok)
    return ok.error();
  if (auto ok = each<ctprof_source>(table.sources, "sources", with(read_source)); !ok)
    return ok.error();
  if (auto fits = check_recorder(table, plugin); !fits) return fits.error();
  if (auto ok = each<ctprof_derived>(table.derived, "derived metrics", with(read_derived)); !ok)
    return ok.error();
  if (auto ok = each<const char*>(table.objects, "objects", with(read_object)); !ok)
    return ok.error();
  if (auto ok = each<ctprof_option>(table.options, "options", with(read_option)); !ok)
    return ok.error();
  return std::move(reading.plugin);
}

}  // namespace ctprof
