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
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/commands/verdicts.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/strict.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

std::string text_of(const Plugin& plugin, const std::vector<Verdict>& verdicts, std::size_t width) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> not_filled;
  std::vector<std::string> filled;
  for (const Verdict& verdict : verdicts)
    (verdict.fills() ? filled : not_filled[{verdict.state, verdict.reason}])
        .push_back(verdict.field->def->name);
  std::string text = printable(plugin.name + " " + plugin.version + " (ABI " +
                               std::to_string(plugin.abi) + ")  " + plugin.path) +
                     "\n";
  if (!plugin.description.empty()) text += "  " + printable(plugin.description) + "\n";
  for (const PluginOption& option : plugin.options)
    text += "  " +
            printable("--set " + plugin.name + "." + option.key + "=" + option.value + "  " +
                      option.description) +
            "\n";
  text +=
      "  fills " + std::to_string(filled.size()) + " of " + count(verdicts.size(), "metric") + "\n";
  if (!filled.empty()) text += wrapped(filled, 4, width);
  for (const auto& [why, metrics] : not_filled)
    text += "  " + printable(why.first + (why.second.empty() ? "" : ": " + why.second)) + "\n" +
            wrapped(metrics, 4, width);
  return text + "\n";
}

void put_offer(JsonWriter& out, const Verdict& verdict) {
  out.put('{');
  out.member("metric", verdict.field->def->name);
  out.key("rank");
  out.number(std::int64_t{verdict.offer->rank});
  out.put(',');
  out.member("state", verdict.state);
  out.member("reason", verdict.reason);
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

void put_plugin(JsonWriter& out, const Plugin& plugin, const std::vector<Verdict>& verdicts) {
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
  out.key("offers");
  out.put('[');
  for (const Verdict& verdict : verdicts) put_offer(out, verdict);
  out.close(']');
  out.close('}');
  out.put(',');
}

std::string json_of(const Probed& probed) {
  JsonWriter out(Escape::Unshowable);
  out.raw("{\"schema\":1,\"plugins\":[");
  for (const Plugin& plugin : probed.registry().plugins())
    if (!plugin.layout) put_plugin(out, plugin, verdicts_on(plugin, probed));
  out.close(']');
  out.put(',');
  put_refused(out, probed.registry());
  out.close('}');
  out.put('\n');
  return std::string(out.view());
}

// Formats one line for all plugins and one line for each.
std::string overview_of(const Probed& probed) {
  std::string lines;
  std::size_t longest = 0, plugins = 0, available = 0;
  for (const Plugin& plugin : probed.registry().plugins())
    if (!plugin.layout) longest = std::max(longest, plugin.name.size());
  for (const Plugin& plugin : probed.registry().plugins()) {
    if (plugin.layout) continue;
    const std::vector<Verdict> verdicts = verdicts_on(plugin, probed);
    const auto filled = static_cast<std::size_t>(std::ranges::count_if(verdicts, &Verdict::fills));
    lines += printable("  " + plugin.name + std::string(longest - plugin.name.size(), ' ') + "  " +
                       plugin.version + "  fills " + std::to_string(filled) + " of " +
                       count(verdicts.size(), "metric")) +
             "\n";
    ++plugins;
    available += filled;
  }
  if (plugins == 0) return lines;
  return count(plugins, "plugin") + " loaded, " +
         std::to_string(probed.registry().refused().size()) + " refused; " +
         count(available, "metric") + " available here\n" + lines + "\n";
}

std::string text_of(const Probed& probed) {
  std::string text = overview_of(probed);
  for (const Plugin& plugin : probed.registry().plugins())
    if (!plugin.layout) text += text_of(plugin, verdicts_on(plugin, probed), text_width());
  text += text_of_refused(probed.registry());
  return text.empty() ? "no plugin is loaded\n" : text;
}

}  // namespace

int run_plugins(const Options& options) {
  const auto roots = open_roots(options.rootfs);
  if (!roots) return fail(roots.error());
  const auto registry = load_registry(options);
  if (!registry) return fail(registry.error());
  const Probed probed(*registry, roots->host(), Recorders::All);
  note_unused(options, probed.thrown());
  Shortfall shortfall(options);
  shortfall.add_refused(*registry);
  shortfall.add(probed.thrown());
  return shortfall.tell(options.format == Format::Json ? print(json_of(probed))
                                                       : page(options, text_of(probed)));
}

}  // namespace ctprof::cli
