#include "core/output/find_output.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/registry/loader.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kSuffix = ".so";

// Calls visit(directory, is_shipped) for each directory that can be opened, until it returns true.
template <class Visit>
void visit_directories(const OutputDirectories& directories, const Visit& visit) {
  if (!directories.shipped.empty())
    if (const auto shipped = open_shipped_directory(directories.shipped);
        shipped && visit(*shipped, true))
      return;
  if (runs_privileged()) return;
  for (const std::string& path : directories.others)
    if (const auto directory = PluginDirectory::open(path, Trust::AnyUser);
        directory && visit(*directory, false))
      return;
}

}  // namespace

std::string own_output_directory() {
  const std::string plugins = own_plugin_directory();
  return plugins.empty() ? "" : plugins + "/outputs";
}

std::vector<std::string> list_outputs(const OutputDirectories& directories) {
  std::set<std::string> names;
  visit_directories(directories, [&](const PluginDirectory& directory, bool is_shipped) {
    for (const std::string& name : directory.names())
      if (is_shipped || is_output_file(directory.path_of(name)))
        names.insert(name.substr(0, name.size() - kSuffix.size()));
    return false;
  });
  return {names.begin(), names.end()};
}

Result<OutputFile> find_output(std::string_view name, const OutputDirectories& directories) {
  const std::string file_name = std::string(name) + std::string(kSuffix);
  Result<OutputFile> found = Error{"no output plugin " + quote(name) + " was found" +
                                   suggest_nearest(name, list_outputs(directories))};
  if (runs_privileged())
    if (const auto own = open_shipped_directory(directories.shipped); !own)
      return error("loading", name, own.error().text);
  visit_directories(directories, [&](const PluginDirectory& directory, bool is_shipped) {
    const std::string path = directory.path_of(file_name);
    if (std::ranges::count(directory.names(), file_name) == 0) return false;
    if (!is_shipped && !is_output_file(path)) return false;
    found = open_output_file(path);
    if (!found) found = error("loading", path, found.error().text);
    return true;
  });
  return found;
}

}  // namespace ctprof
