#include "tools/ctprof/runtime/outputs.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

// Returns the name of the plugin in an entry PLUGIN.KEY=VALUE.
std::string_view plugin_of(std::string_view entry) {
  entry = entry.substr(0, entry.find('='));
  return entry.substr(0, entry.find('.'));
}

Result<OutputProcess> start(const CommonOptions& options, const std::string& name, int bytes_fd,
                            bool opens) {
  CTPROF_TRY_VALUE(auto file, find_output(name, output_directories(options.plugin_path)));
  OutputProcessOptions output{.name = name, .bytes_fd = bytes_fd, .opens = opens};
  for (const std::string_view entry : options.plugin_settings) {
    if (plugin_of(entry) != name) continue;
    std::string_view value = entry.substr(name.size());
    const std::string_view key = sdk::take(value, '=');
    output.settings.push_back(
        {std::string(key.substr(std::min<std::size_t>(1, key.size()))), std::string(value)});
  }
  return OutputProcess::start(std::move(file), std::move(output));
}

}  // namespace

std::vector<std::string> plugin_path_of_environment() {
  std::vector<std::string> directories;
  const char* const path = std::getenv("CTPROF_PLUGIN_PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();)
    if (const auto directory = sdk::take(rest, ':'); !directory.empty())
      directories.emplace_back(directory);
  return directories;
}

OutputDirectories output_directories(const std::vector<std::string>& plugin_path) {
  OutputDirectories directories{own_output_directory(), plugin_path};
  for (std::string& directory : plugin_path_of_environment())
    directories.others.push_back(std::move(directory));
  return directories;
}

std::vector<std::string> settings_of_sources(const CommonOptions& options) {
  std::vector<std::string> entries = options.plugin_settings;
  if (entries.empty()) return entries;
  const std::vector<std::string> outputs = list_outputs(output_directories(options.plugin_path));
  std::erase_if(entries, [&](const std::string& entry) {
    return std::ranges::count(outputs, plugin_of(entry)) > 0;
  });
  return entries;
}

Result<OutputProcess> start_output(const CommonOptions& options, const std::string& name,
                                   int bytes_fd) {
  return start(options, name, bytes_fd, true);
}

std::string describe_printed_line(const std::string& name, const std::string& line) {
  return "output '" + name + "' prints: " + line;
}

Result<OutputProcess> describe_output(const CommonOptions& options, const std::string& name) {
  return start(options, name, -1, false);
}

}  // namespace ctprof::cli
