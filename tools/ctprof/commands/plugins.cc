// ctprof plugins: prints every plugin, every offer, the selected offer, and why the others were not
// selected.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/capture/roots.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/commands/offer_statuses.hpp"
#include "tools/ctprof/commands/output_list.hpp"
#include "tools/ctprof/options/capture_options.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/strict.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// Returns the entities whose rows the plugin lists.
std::vector<PluginEntity> entities_of(const Registry& registry, const Plugin& plugin) {
  std::vector<PluginEntity> found;
  for (const PluginEntity& entity : registry.entities())
    if (entity.plugin == &plugin) found.push_back(entity);
  return found;
}

std::string text_of(const Registry& registry, const Plugin& plugin,
                    const std::vector<OfferStatus>& statuses, std::size_t width) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> unfilled_metrics;
  std::vector<std::string> filled_metrics;
  for (const OfferStatus& status : statuses)
    (status.fills() ? filled_metrics : unfilled_metrics[{status.state, status.reason}])
        .push_back(status.field->def->name);
  std::string text = make_printable(plugin.name + " " + plugin.version + " (ABI " +
                                    std::to_string(plugin.abi) + ")  " + plugin.path) +
                     "\n";
  if (!plugin.description.empty()) text += "  " + make_printable(plugin.description) + "\n";
  for (const PluginOption& option : plugin.options)
    text += "  " +
            make_printable("--set " + plugin.name + "." + option.key + "=" + option.value + "  " +
                           option.description) +
            "\n";
  for (const PluginEntity& entity : entities_of(registry, plugin))
    text += "  " +
            make_printable("--entity " + std::string(name(entity.entity)) + "  " +
                           entity.lister->entity_description) +
            "\n";
  text += "  fills " + std::to_string(filled_metrics.size()) + " of " +
          format_count(statuses.size(), "metric") + "\n";
  if (!filled_metrics.empty()) text += wrap_words(filled_metrics, 4, width);
  for (const auto& [reason, metrics] : unfilled_metrics)
    text += "  " +
            make_printable(reason.first + (reason.second.empty() ? "" : ": " + reason.second)) +
            "\n" + wrap_words(metrics, 4, width);
  return text + "\n";
}

void put_offer(JsonWriter& out, const OfferStatus& status) {
  out.put('{');
  out.member("metric", status.field->def->name);
  out.key("rank");
  out.number(std::int64_t{status.offer->rank});
  out.put(',');
  out.member("state", status.state);
  out.member("reason", status.reason);
  out.close('}');
  out.put(',');
}

void put_option(JsonWriter& out, const PluginOption& option) {
  out.put('{');
  out.member("key", option.key);
  out.member("value", option.value);
  out.member("description", option.description);
  out.close('}');
  out.put(',');
}

void put_entity(JsonWriter& out, const PluginEntity& entity) {
  out.put('{');
  out.member("name", name(entity.entity));
  out.member("description", entity.lister->entity_description);
  out.close('}');
  out.put(',');
}

void put_plugin(JsonWriter& out, const Registry& registry, const Plugin& plugin,
                const std::vector<OfferStatus>& statuses) {
  out.put('{');
  out.member("name", plugin.name);
  out.member("path", plugin.path);
  out.member("version", plugin.version);
  out.key("abi");
  out.number(std::uint64_t{plugin.abi});
  out.put(',');
  out.member("state", "loaded");
  out.key("options");
  out.put('[');
  for (const PluginOption& option : plugin.options) put_option(out, option);
  out.close(']');
  out.put(',');
  out.key("entities");
  out.put('[');
  for (const PluginEntity& entity : entities_of(registry, plugin)) put_entity(out, entity);
  out.close(']');
  out.put(',');
  out.key("offers");
  out.put('[');
  for (const OfferStatus& status : statuses) put_offer(out, status);
  out.close(']');
  out.close('}');
  out.put(',');
}

std::string json_of(const ProbedHost& probed, const std::vector<ListedOutput>& outputs) {
  JsonWriter out(Escape::Unprintable);
  out.raw("{\"schema\":1,\"plugins\":[");
  for (const Plugin& plugin : probed.registry().plugins())
    if (!plugin.is_layout)
      put_plugin(out, probed.registry(), plugin, collect_offer_statuses(plugin, probed));
  out.close(']');
  out.put(',');
  put_outputs(out, outputs);
  put_refused_plugins(out, probed.registry());
  out.close('}');
  out.put('\n');
  return std::string(out.view());
}

// Formats one line for all plugins and one line for each.
std::string overview_of(const ProbedHost& probed) {
  std::string lines;
  std::size_t longest = 0, plugins = 0, available = 0;
  for (const Plugin& plugin : probed.registry().plugins())
    if (!plugin.is_layout) longest = std::max(longest, plugin.name.size());
  for (const Plugin& plugin : probed.registry().plugins()) {
    if (plugin.is_layout) continue;
    const std::vector<OfferStatus> statuses = collect_offer_statuses(plugin, probed);
    const auto filled_count =
        static_cast<std::size_t>(std::ranges::count_if(statuses, &OfferStatus::fills));
    lines += make_printable("  " + plugin.name + std::string(longest - plugin.name.size(), ' ') +
                            "  " + plugin.version + "  fills " + std::to_string(filled_count) +
                            " of " + format_count(statuses.size(), "metric")) +
             "\n";
    ++plugins;
    available += filled_count;
  }
  if (plugins == 0) return lines;
  return format_count(plugins, "plugin") + " loaded, " +
         std::to_string(probed.registry().refusals().size()) + " refused; " +
         format_count(available, "metric") + " available here\n" + lines + "\n";
}

std::string text_of(const ProbedHost& probed, const std::vector<ListedOutput>& outputs) {
  std::string text = overview_of(probed);
  for (const Plugin& plugin : probed.registry().plugins())
    if (!plugin.is_layout)
      text +=
          text_of(probed.registry(), plugin, collect_offer_statuses(plugin, probed), text_width());
  text += format_outputs(outputs);
  text += format_refused_plugins(probed.registry());
  return text.empty() ? "no plugin is loaded\n" : text;
}

struct PluginsOptions : CommonOptions, RootfsOption, StrictOption {};

constexpr auto kPluginsOptions = option_list<PluginsOptions>(
    kStrict, kVerbose, kScreenAndSchema, kPluginChoice, kSet, kRootfs, kQuietAndHelp);

int run_plugins(const PluginsOptions& options) {
  const auto roots = open_roots(options.rootfs);
  if (!roots) return fail(roots.error());
  const auto outputs = list_described_outputs(options);
  const auto registry = load_registry(options);
  if (!registry) return fail(registry.error());
  const ProbedHost probed(*registry, roots->host(), RecorderSelection::All);
  note_unused(options, probed.failures());
  Shortfall shortfall(options.strict, false);
  shortfall.add_refused(*registry);
  shortfall.add(probed.failures());
  return shortfall.report(options.format == Format::Json
                              ? print(json_of(probed, outputs))
                              : print_paged(options, text_of(probed, outputs)));
}

}  // namespace

extern constinit const CommandInfo kPluginsCommand = make_command<PluginsOptions, run_plugins>(
    {.name = "plugins",
     .similar_names = "sources,modules,lsmod",
     .summary = "list plugins, their metrics, and what each cannot read here",
     .example = "ctprof plugins",
     .reads_kernel = true},
    kPluginsOptions);

}  // namespace ctprof::cli
