#include "plugins/cgroupfs/path.hpp"

#include <algorithm>

#include "ctprof/files.hpp"

namespace ctprof::cgroupfs {
namespace {

using Names = std::vector<std::string_view>;

std::string joined_names(Names::const_iterator first, Names::const_iterator last) {
  std::string path;
  for (; first != last; ++first) (path += path.empty() ? "" : "/") += *first;
  return path.empty() ? "." : path;
}

}  // namespace

Place place_of(std::string_view path) {
  Place place;
  while (!path.empty()) {
    const std::string_view name = sdk::take(path, '/');
    if (name.empty() || name == ".") continue;
    if (name != "..")
      place.names.push_back(name);
    else if (place.names.empty())
      ++place.ups;
    else
      place.names.pop_back();
  }
  return place;
}

sdk::Reading<std::string> below_mount(std::string_view mount_root, std::string_view path,
                                      std::string_view branch) {
  const Place mount = place_of(mount_root);
  Place place = place_of(path);
  if (place.ups > mount.ups) return Gap::Unsupported;
  const std::size_t unnamed =
      mount.ups - place.ups;  // names of the branch that the path takes for granted
  if (unnamed > 0) {
    const Names known = place_of(branch).names;
    if (known.size() != mount.ups || !mount.names.empty()) return Gap::Unsupported;
    place.names.insert(place.names.begin(), known.begin(),
                       known.begin() + static_cast<std::ptrdiff_t>(unnamed));
  }
  const auto [in_mount, in_path] =
      std::mismatch(mount.names.begin(), mount.names.end(), place.names.begin(), place.names.end());
  if (in_mount != mount.names.end()) return Gap::Unsupported;
  return joined_names(in_path, place.names.end());
}

}  // namespace ctprof::cgroupfs
