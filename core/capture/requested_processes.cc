#include "core/capture/requested_processes.hpp"

#include <algorithm>
#include <utility>

#include "core/capture/identity_reader.hpp"

namespace ctprof {

RequestedProcesses::RequestedProcesses(std::vector<std::uint64_t> pids, std::string cgroup,
                                       int proc, bool inherits)
    : pids_(std::move(pids)), cgroup_(std::move(cgroup)), proc_(proc), inherits_(inherits) {
  std::ranges::sort(pids_);
}

bool RequestedProcesses::is_selected_by_pid(std::uint64_t tgid) const {
  return pids_.empty() || std::ranges::binary_search(pids_, tgid) || followed_.contains(tgid);
}

bool RequestedProcesses::contains(std::uint64_t tgid) {
  if (!is_selected_by_pid(tgid)) return false;
  if (cgroup_.empty()) return true;
  CgroupState& state = states_[tgid];
  return state.was_read ? state.is_requested : read_cgroup(state, tgid);
}

bool RequestedProcesses::read_cgroup(CgroupState& state, std::uint64_t tgid) {
  state.was_read = true;
  const auto text = file_.read(proc_, (std::to_string(tgid) + "/cgroup").c_str());
  const auto path = text ? parse_cgroup_path(text.value) : std::nullopt;
  if (path) state.is_requested = is_below(*path, cgroup_);
  return state.is_requested;
}

void RequestedProcesses::add_forked(std::uint64_t tgid, std::uint64_t parent) {
  if (inherits_ && !pids_.empty())
    is_selected_by_pid(parent) ? void(followed_.insert(tgid)) : void(followed_.erase(tgid));
  if (!cgroup_.empty()) states_[tgid] = {.is_requested = contains(parent), .was_read = false};
}

}  // namespace ctprof
