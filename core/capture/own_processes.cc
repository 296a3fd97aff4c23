#include "core/capture/own_processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/base/lowered_rights.hpp"
#include "core/capture/living_thread.hpp"

namespace ctprof {

OwnProcesses::OwnProcesses(int proc, bool is_lent)
    : is_lent_(is_lent), proc_(is_lent ? ::fcntl(proc, F_DUPFD_CLOEXEC, 0) : -1) {}

OwnProcesses::Whose OwnProcesses::whose(std::uint64_t tgid) {
  if (!is_lent_) return Whose::Own;
  const auto [known, is_new] = known_.try_emplace(tgid, Whose::Foreign);
  if (is_new) known->second = find(tgid);
  return known->second;
}

// Reading the link takes no lock that the process can hold.
OwnProcesses::Whose OwnProcesses::find(std::uint64_t tgid) const {
  const LoweredRights lowered;
  if (!lowered) return Whose::Foreign;
  const std::uint64_t thread = living_thread(proc_.get(), tgid);
  char target;
  if (::readlinkat(proc_.get(), (std::to_string(thread) + "/root").c_str(), &target, 1) >= 0)
    return Whose::Own;
  return errno == ENOENT || errno == ESRCH ? Whose::Exited : Whose::Foreign;
}

}  // namespace ctprof
