#include "core/window/host_load.hpp"

#include <algorithm>
#include <span>
#include <string_view>

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

// Throttled times of cgroups do not include those of their descendants, so they can be added.
void add_throttled(const Snapshot& window, double wall_us, HostLoad& load) {
  const Table& cgroups = window.table(Entity::Cgroup);
  const Column* column = find_role(cgroups.columns, "throttled-time");
  const Column* path = cgroups.find(kCgroupPath);
  if (!column || !path || path->def().storage != Storage::String) return;
  for (std::size_t row = 0; row < column->rows(); ++row) {
    if (!column->has_value(row)) continue;
    const double share = static_cast<double>(column->u64()[row]) / wall_us;
    load.throttled = load.throttled.value_or(0) + share;
    if (share <= load.max_throttled || !path->has_value(row)) continue;
    load.max_throttled = share;
    load.throttled_cgroup = window.pools->texts[path->ids()[row]];
  }
}

double count_of(std::span<const ctprof_entry> map, std::string_view key) {
  for (const ctprof_entry& entry : map)
    if (std::string_view(entry.key.data, entry.key.size) == key)
      return static_cast<double>(entry.value);
  return 0;
}

// Events of a cgroup include those of its descendants, so the deepest of equal ones is used.
void add_oom_kills(const Snapshot& window, HostLoad& load) {
  const Table& cgroups = window.table(Entity::Cgroup);
  const Column* events = find_role(cgroups.columns, "memory-events", Storage::Map);
  const Column* path = cgroups.find(kCgroupPath);
  if (!events || !path || path->def().storage != Storage::String) return;
  for (std::size_t row = 0; row < events->rows(); ++row) {
    if (!events->has_value(row) || !path->has_value(row)) continue;
    const double kills = count_of(window.pools->maps[events->ids()[row]], "oom_kill");
    const std::string_view name = window.pools->texts[path->ids()[row]];
    const bool is_deeper = kills == load.oom_kills && name.size() > load.oom_cgroup.size();
    if (kills == 0 || kills < load.oom_kills || (kills == load.oom_kills && !is_deeper)) continue;
    load.oom_cgroup = name;
    load.oom_kills = kills;
  }
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
