#include "core/compare/grouping/cgroup_key.hpp"

#include <algorithm>
#include <unordered_map>

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

}  // namespace

std::uint32_t CgroupFamilies::add(std::string_view path) {
  const auto glob = std::find_if(naming_.flatten.begin(), naming_.flatten.end(),
                                 [&](const PathGlob& g) { return g.matches(path); });
  if (glob != naming_.flatten.end()) return meet({Origin::Glob, glob->text()}, path);
  if (naming_.literal) return meet({Origin::Path, std::string(path)}, path);
  return meet({Origin::Pattern, std::to_string(names_.add(without_instances(path)))}, path);
}

std::uint32_t CgroupFamilies::meet(Identity identity, std::string_view path) {
  const auto [place, is_new] =
      known_.try_emplace(std::move(identity), static_cast<std::uint32_t>(families_.size()));
  if (is_new)
    families_.push_back({&place->first, std::string(path)});
  else if (Family& family = families_[place->second]; family.only_path && family.only_path != path)
    family.only_path.reset();
  return place->second;
}

std::vector<std::string> CgroupFamilies::keys() const {
  const auto patterns = names_.keys();
  std::vector<std::string> keys;
  std::unordered_map<std::string, std::optional<std::string>, SeededHash> only;  // path of a key
  for (const Family& family : families_) {
    const auto& [origin, text] = *family.identity;
    keys.push_back(origin == Origin::Pattern ? patterns[std::stoul(text)] : text);
    if (origin != Origin::Pattern) continue;
    const auto [known, is_new] = only.try_emplace(keys.back(), family.only_path);
    if (!is_new && known->second != family.only_path) known->second.reset();
  }
  // A key that stands for a single path is that path.
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (families_[i].identity->first == Origin::Pattern)
      if (const auto& path = only.at(keys[i])) keys[i] = *path;
  return keys;
}

std::vector<std::string> cgroup_keys(std::span<const std::string> paths,
                                     const CgroupNaming& naming) {
  CgroupFamilies families(naming);
  std::vector<std::uint32_t> of_path;
  for (const std::string& path : paths) of_path.push_back(families.add(path));
  const auto keys = families.keys();
  std::vector<std::string> found;
  for (const std::uint32_t family : of_path) found.push_back(keys[family]);
  return found;
}

}  // namespace ctprof
