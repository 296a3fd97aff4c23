#include "core/compare/grouping/cgroup_key.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/base/seeded_hash.hpp"
#include "core/compare/grouping/name_pattern.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kService = ".service";

std::string without_instances(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const auto at = path.find('@');
    out += path.substr(0, at);
    if (at == path.npos) break;
    path.remove_prefix(at + 1);
    const std::string_view rest = path.substr(0, path.find('/'));
    const auto end = rest.find(kService);
    const std::string_view instance = rest.substr(0, end);
    out += '@';
    if (end == rest.npos || instance.empty() || instance.find_first_of("._-") != instance.npos)
      continue;
    out += "{I}";
    path.remove_prefix(instance.size());
  }
  return out;
}

const PathGlob* flattened_by(const std::string& path, const CgroupNaming& naming) {
  const auto glob = std::find_if(naming.flatten.begin(), naming.flatten.end(),
                                 [&](const PathGlob& g) { return g.matches(path); });
  return glob == naming.flatten.end() ? nullptr : &*glob;
}

// Gives keys that stand for a single path that path back.
void keep_single(std::span<const std::string> paths, std::vector<std::string>& keys) {
  std::unordered_map<std::string, const std::string*, SeededHash> only;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto [known, is_new] = only.try_emplace(keys[i], &paths[i]);
    if (!is_new && known->second && *known->second != paths[i]) known->second = nullptr;
  }
  for (std::string& key : keys)
    if (const std::string* path = only.at(key)) key = *path;
}

std::vector<std::string> patterns(std::span<const std::string> paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(without_instances(path));
  auto keys = name_patterns(names);
  keep_single(paths, keys);
  return keys;
}

}  // namespace

std::vector<std::string> cgroup_keys(std::span<const std::string> paths,
                                     const CgroupNaming& naming) {
  std::vector<std::string> keys(paths.size()), rest;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (const PathGlob* glob = flattened_by(paths[i], naming)) {
      keys[i] = glob->text();
    } else {
      rest.push_back(paths[i]);
      places.push_back(i);
    }
  }
  const auto found = naming.literal ? rest : patterns(rest);
  for (std::size_t i = 0; i < places.size(); ++i) keys[places[i]] = found[i];
  return keys;
}

}  // namespace ctprof
