#include "core/capture/own_processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "core/base/dropped_capabilities.hpp"
#include "core/capture/living_thread.hpp"

namespace ctprof {

OwnProcesses::OwnProcesses(int proc, bool has_extra_rights)
    : has_extra_rights_(has_extra_rights),
      proc_(has_extra_rights ? ::fcntl(proc, F_DUPFD_CLOEXEC, 0) : -1) {}

OwnProcesses::Access OwnProcesses::find_access(std::uint64_t tgid) {
  if (!has_extra_rights_) return Access::Own;
  const auto [entry, is_new] = access_by_tgid_.try_emplace(tgid, Access::Foreign);
  if (!is_new) return entry->second;
  entry->second = read_access(tgid);
  if (entry->second == Access::Exited && exited_own_.contains(tgid)) entry->second = Access::Own;
  return entry->second;
}

std::vector<std::uint64_t> OwnProcesses::take_own() {
  std::vector<std::uint64_t> own;
  for (const auto& [tgid, access] : std::exchange(access_by_tgid_, {}))
    if (access == Access::Own) own.push_back(tgid);
  return own;
}

void OwnProcesses::set_exited_own(std::span<const std::uint64_t> tgids) {
  exited_own_ = {tgids.begin(), tgids.end()};
}

// Reading the link takes no lock that the process can hold.
OwnProcesses::Access OwnProcesses::read_access(std::uint64_t tgid) const {
  const DroppedCapabilities rights;
  if (!rights) return Access::Foreign;
  const std::uint64_t thread = find_living_thread(proc_.get(), tgid);
  char target;
  if (::readlinkat(proc_.get(), (std::to_string(thread) + "/root").c_str(), &target, 1) >= 0)
    return Access::Own;
  return errno == ENOENT || errno == ESRCH ? Access::Exited : Access::Foreign;
}

}  // namespace ctprof
