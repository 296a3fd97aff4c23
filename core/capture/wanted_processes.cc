#include "core/capture/wanted_processes.hpp"

#include <algorithm>
#include <utility>

#include "core/capture/identity_reader.hpp"

namespace ctprof {

WantedProcesses::WantedProcesses(std::vector<std::uint64_t> pids, std::string cgroup, int proc,
                                 bool inherits)
    : pids_(std::move(pids)), cgroup_(std::move(cgroup)), proc_(proc), inherits_(inherits) {
  std::ranges::sort(pids_);
}

bool WantedProcesses::is_of_pids(std::uint64_t tgid) const {
  return pids_.empty() || std::ranges::binary_search(pids_, tgid) || followed_.contains(tgid);
}

bool WantedProcesses::has(std::uint64_t tgid) {
  if (!is_of_pids(tgid)) return false;
  if (cgroup_.empty()) return true;
  Known& known = known_[tgid];
  return known.was_read ? known.is_wanted : read(known, tgid);
}

bool WantedProcesses::read(Known& known, std::uint64_t tgid) {
  known.was_read = true;
  const auto text = file_.read(proc_, (std::to_string(tgid) + "/cgroup").c_str());
  const auto path = text ? parse_cgroup_path(text.value) : std::nullopt;
  if (path) known.is_wanted = is_below(*path, cgroup_);
  return known.is_wanted;
}

void WantedProcesses::forked(std::uint64_t tgid, std::uint64_t parent) {
  if (inherits_ && !pids_.empty())
    is_of_pids(parent) ? void(followed_.insert(tgid)) : void(followed_.erase(tgid));
  if (!cgroup_.empty()) known_[tgid] = {.is_wanted = has(parent), .was_read = false};
}

}  // namespace ctprof
