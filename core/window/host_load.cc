#include "core/window/host_load.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/registry/identity.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

constexpr double kNsPerUs = 1e3;

std::optional<double> number(const Snapshot& window, std::string_view role) {
  const Column* column = find_role(window.table(Entity::Host).columns, role);
  if (!column || column->rows() == 0 || !column->has_value(0)) return {};
  return static_cast<double>(column->u64()[0]);
}

std::optional<double> load_average(const Snapshot& window) {
  const Column* column = find_role(window.table(Entity::Host).columns, "load", Storage::F64);
  if (!column || column->rows() == 0 || !column->has_value(0)) return {};
  const double load = column->f64()[0];
  return load >= 0 ? std::optional(load) : std::nullopt;
}

// Values by the path of a cgroup, as a text of the window.
using CgroupValues = std::map<std::string_view, double>;

// Returns the largest values above zero; ties by path.
std::map<std::string, double> find_largest(const CgroupValues& values) {
  std::vector<std::pair<double, std::string_view>> order;
  for (const auto& [path, value] : values)
    if (value > 0) order.emplace_back(-value, path);
  const auto kept = std::min(order.size(), HostLoad::kMaxCgroups);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(kept));
  std::map<std::string, double> largest;
  for (std::size_t at = 0; at < kept; ++at) largest.emplace(order[at].second, -order[at].first);
  return largest;
}

// Throttled times of cgroups do not include those of their descendants, so they can be added.
void add_throttled(const Snapshot& window, double wall_us, HostLoad& load) {
  const Table& cgroups = window.table(Entity::Cgroup);
  const Column* column = find_role(cgroups.columns, "throttled-time");
  const Column* path = cgroups.find(kCgroupPath);
  if (!column || !path || path->def().storage != Storage::String) return;
  CgroupValues throttled;
  for (std::size_t row = 0; row < column->rows(); ++row) {
    if (!column->has_value(row)) continue;
    const double share = static_cast<double>(column->u64()[row]) / wall_us;
    load.throttled = load.throttled.value_or(0) + share;
    if (path->has_value(row)) throttled[window.pools->texts[path->ids()[row]]] += share;
  }
  load.throttled_cgroups = find_largest(throttled);
}

double count_of(std::span<const ctprof_entry> map, std::string_view key) {
  for (const ctprof_entry& entry : map)
    if (std::string_view(entry.key.data, entry.key.size) == key)
      return static_cast<double>(entry.value);
  return 0;
}

// Returns the nearest cgroup above the path that has a value, or null.
double* find_ancestor(CgroupValues& values, std::string_view path) {
  constexpr std::size_t kMaxDepth = 64;
  for (std::size_t depth = 0; depth < kMaxDepth && path.size() > 1; ++depth) {
    const auto end = path.rfind('/');
    if (end == path.npos) break;
    path = path.substr(0, std::max<std::size_t>(end, 1));
    if (const auto found = values.find(path); found != values.end()) return &found->second;
  }
  return nullptr;
}

// Events of a cgroup include those of its descendants, which are subtracted.
void add_oom_kills(const Snapshot& window, HostLoad& load) {
  const Table& cgroups = window.table(Entity::Cgroup);
  const Column* events = find_role(cgroups.columns, "memory-events", Storage::Map);
  const Column* path = cgroups.find(kCgroupPath);
  if (!events || !path || path->def().storage != Storage::String) return;
  CgroupValues kills;
  for (std::size_t row = 0; row < events->rows(); ++row) {
    if (!events->has_value(row) || !path->has_value(row)) continue;
    const double count = count_of(window.pools->maps[events->ids()[row]], "oom_kill");
    if (count > 0) kills[window.pools->texts[path->ids()[row]]] += count;
  }
  CgroupValues own_kills = kills;
  for (const auto& [cgroup, count] : kills)
    if (double* const above = find_ancestor(own_kills, cgroup)) *above -= count;
  load.oom_kills = find_largest(own_kills);
}

std::optional<double> divide_by_wall(std::optional<double> value, double wall) {
  return value ? std::optional(*value / wall) : std::nullopt;
}

std::optional<double> capped_share(std::optional<double> value, double wall) {
  return value ? std::optional(std::min(*value / wall, 1.0)) : std::nullopt;
}

}  // namespace

HostLoad compute_host_load(const Snapshot& window) {
  HostLoad load;
  load.cpus = number(window, "host-cpus");
  load.memory_available = number(window, "memory-available");
  load.load = load_average(window);
  add_oom_kills(window, load);
  const double wall = number(window, "host-wall").value_or(0);
  if (wall <= 0) return load;
  load.cpu_pressure = capped_share(number(window, "cpu-pressure"), wall / kNsPerUs);
  load.io_pressure = capped_share(number(window, "io-pressure"), wall / kNsPerUs);
  load.memory_pressure = capped_share(number(window, "memory-pressure"), wall / kNsPerUs);
  load.iowait = divide_by_wall(number(window, "host-iowait"), wall);
  add_throttled(window, wall / kNsPerUs, load);
  const auto read = number(window, "disk-read"), written = number(window, "disk-write");
  if (read && written) load.disk_bytes = (*read + *written) / (wall / kNsPerSecond);
  load.disk_busy = capped_share(number(window, "disk-busy"), wall);
  return load;
}

}  // namespace ctprof
