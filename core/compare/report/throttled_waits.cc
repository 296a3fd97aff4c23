#include "core/compare/report/throttled_waits.hpp"

#include <algorithm>

#include "core/compare/grouping/key_families.hpp"
#include "core/registry/identity.hpp"
#include "core/window/roles.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxCgroupDepth = 64;  // of a cgroup; files may have longer paths

std::map<std::uint64_t, std::string_view> collect_cgroups_of_processes(const Snapshot& window) {
  const Table& processes = window.table(Entity::Process);
  const Column* paths = find_role(processes.columns, "cpu-cgroup", Storage::String);
  const Column* tgids = processes.find_u64(kProcessTgid);
  std::map<std::uint64_t, std::string_view> cgroups;
  if (!paths || !tgids) return cgroups;
  for (std::size_t row = 0; row < paths->rows(); ++row)
    if (paths->has_value(row) && tgids->has_value(row))
      cgroups[tgids->u64()[row]] = window.pools->texts[paths->ids()[row]];
  return cgroups;
}

}  // namespace

void add_throttled_wait(std::vector<ThrottledWait>& waits, const ThrottledWait& other) {
  const auto same = std::ranges::find(waits, other.cgroup, &ThrottledWait::cgroup);
  if (same == waits.end())
    waits.push_back(other);
  else
    same->wait_ns += other.wait_ns;
}

ThrottledWaits::ThrottledWaits(const Snapshot& window)
    : window_(&window),
      load_(compute_host_load(window)),
      tgids_(thread_column(window, kTgid, Storage::U64)),
      cgroups_(thread_column(window, kCgroup, Storage::String)) {
  if (load_.throttled_entity) cgroup_of_process_ = collect_cgroups_of_processes(window);
}

void ThrottledWaits::add(std::size_t row, double wait_ns, std::vector<ThrottledWait>& waits) const {
  if (load_.throttled_cgroups.empty() || wait_ns <= 0) return;
  std::string cgroup(find_cgroup(row));
  for (std::size_t depth = 0; depth < kMaxCgroupDepth && !cgroup.empty(); ++depth) {
    if (load_.throttled_cgroups.contains(cgroup)) add_throttled_wait(waits, {cgroup, wait_ns});
    if (cgroup == "/") return;
    cgroup.resize(std::min(cgroup.rfind('/'), cgroup.size()));
    if (cgroup.empty()) cgroup = "/";
  }
}

std::string_view ThrottledWaits::find_cgroup(std::size_t row) const {
  if (load_.throttled_entity) {
    const auto found = tgids_ && tgids_->has_value(row)
                           ? cgroup_of_process_.find(tgids_->u64()[row])
                           : cgroup_of_process_.end();
    return found == cgroup_of_process_.end() ? std::string_view{} : found->second;
  }
  if (!cgroups_ || !cgroups_->has_value(row)) return {};
  return window_->pools->texts[cgroups_->ids()[row]];
}

}  // namespace ctprof
