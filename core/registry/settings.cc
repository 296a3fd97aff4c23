#include "core/registry/settings.hpp"

#include <algorithm>
#include <string_view>

#include "core/base/nearest.hpp"

namespace ctprof {
namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

Error unknown_plugin(const std::vector<Plugin>& plugins, std::string_view name) {
  std::vector<std::string> names;
  for (const Plugin& plugin : plugins) names.push_back(plugin.name);
  return {"--set: no plugin " + quoted(name) + " is loaded" + nearest_hint(name, names)};
}

Error unknown_option(const Plugin& plugin, std::string_view key) {
  std::string known;
  for (const PluginOption& option : plugin.options)
    known += (known.empty() ? "" : ", ") + option.key;
  return {"--set: plugin " + quoted(plugin.name) + " has no option " + quoted(key) +
          (known.empty() ? "; it has none" : "; it has " + known)};
}

Result<void> set_option(std::vector<Plugin>& plugins, std::string_view entry) {
  const auto equals = entry.find('=');
  const auto dot = entry.substr(0, equals).find('.');
  if (equals == entry.npos || dot == entry.npos)
    return Error{"--set " + quoted(entry) + ": write PLUGIN.KEY=VALUE"};
  const std::string_view name = entry.substr(0, dot), key = entry.substr(dot + 1, equals - dot - 1);
  const auto plugin = std::ranges::find(plugins, name, &Plugin::name);
  if (plugin == plugins.end()) return unknown_plugin(plugins, name);
  const auto option = std::ranges::find(plugin->options, key, &PluginOption::key);
  if (option == plugin->options.end()) return unknown_option(*plugin, key);
  option->value = entry.substr(equals + 1);
  return {};
}

}  // namespace

Result<void> apply_settings(std::vector<Plugin>& plugins, std::span<const std::string> given) {
  for (const std::string& entry : given)
    if (auto done = set_option(plugins, entry); !done) return done.error();
  return {};
}

}  // namespace ctprof
