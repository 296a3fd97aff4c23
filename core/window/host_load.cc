#include "core/window/host_load.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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

// The columns of a table of cgroups: the v2 cgroups, or those of a plugin's entity.
struct ThrottlingColumns {
  const Column *time, *path;
  const Column *quota, *period;  // null if the file lacks them
};

const Column* find_path(const Table& table, Entity entity) {
  if (!is_of_plugin(entity)) return table.find(kCgroupPath);
  const auto identity = identity_columns(table);
  return identity.empty() ? nullptr : identity.front();
}

std::optional<ThrottlingColumns> find_throttling_columns(const Snapshot& window, Entity entity) {
  const Table& table = window.table(entity);
  const Column *time = find_role(table.columns, "throttled-time"), *path = find_path(table, entity);
  if (!time || !path || path->def().storage != Storage::String) return std::nullopt;
  return ThrottlingColumns{time, path, find_role(table.columns, "cpu-quota"),
                           find_role(table.columns, "cpu-period")};
}

// Returns the file in the source of a metric: "cpu.max" in "<cgroup>/cpu.max:field 1".
std::string find_file_in_source(std::string_view source) {
  source = source.substr(0, source.find_first_of(": "));
  return std::string(source.substr(source.rfind('/') + 1));
}

std::optional<CpuQuota> find_quota(const ThrottlingColumns& columns, std::size_t row) {
  const auto& [time, path, quota, period] = columns;
  if (!quota || !period || !quota->has_value(row) || !period->has_value(row)) return {};
  constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  if (quota->u64()[row] == kNoLimit || period->u64()[row] == 0) return {};
  return CpuQuota{static_cast<double>(quota->u64()[row]), static_cast<double>(period->u64()[row]),
                  find_file_in_source(quota->def().source)};
}

// Throttled times of cgroups do not include those of their descendants, so they can be added.
void add_throttled(const Snapshot& window, Entity entity, double wall_ns, HostLoad& load) {
  const auto columns = find_throttling_columns(window, entity);
  if (!columns) return;
  const double wall = columns->time->def().unit == "ns" ? wall_ns : wall_ns / kNsPerUs;
  // The rows of a plugin's entity are cgroups with a quota; there may be no such rows.
  if (is_of_plugin(entity) && columns->time->provenance.gap == Gap::None)
    load.throttled = load.throttled.value_or(0);
  CgroupValues throttled;
  std::map<std::string_view, CpuQuota> quotas;
  for (std::size_t row = 0; row < columns->time->rows(); ++row) {
    if (!columns->time->has_value(row)) continue;
    const double share = static_cast<double>(columns->time->u64()[row]) / wall;
    load.throttled = load.throttled.value_or(0) + share;
    if (!columns->path->has_value(row)) continue;
    const std::string_view path = window.pools->texts[columns->path->ids()[row]];
    throttled[path] += share;
    if (const auto quota = find_quota(*columns, row); quota && share > 0) quotas[path] = *quota;
  }
  auto largest = find_largest(throttled);
  if (largest.empty() || !load.throttled_cgroups.empty()) return;
  for (const auto& [path, share] : largest)
    if (const auto found = quotas.find(path); found != quotas.end())
      load.cpu_quotas.emplace(path, found->second);
  load.throttled_cgroups = std::move(largest);
  if (is_of_plugin(entity)) load.throttled_entity = entity;
}

void add_throttled(const Snapshot& window, double wall_ns, HostLoad& load) {
  add_throttled(window, Entity::Cgroup, wall_ns, load);
  for (std::size_t number = kBuiltinEntities; number < kEntities; ++number)
    add_throttled(window, static_cast<Entity>(number), wall_ns, load);
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
  add_throttled(window, wall, load);
  const auto read = number(window, "disk-read"), written = number(window, "disk-write");
  if (read && written) load.disk_bytes = (*read + *written) / (wall / kNsPerSecond);
  load.disk_busy = capped_share(number(window, "disk-busy"), wall);
  return load;
}

}  // namespace ctprof
