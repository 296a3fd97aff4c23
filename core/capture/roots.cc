#include "core/capture/roots.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <sstream>
#include <string_view>

#include "core/capture/walk.hpp"
#include "core/registry/loader.hpp"

namespace ctprof {
namespace {

sdk::Fd open_directory(const std::string& path) {
  return sdk::Fd(path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool is_procfs(int fd) {
  struct statfs status {};
  return ::fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

// How many PID namespaces there are from this procfs down to us, our own included: 1 means that its
// ids are valid for us, 0 that we are not in it.
std::size_t namespaces_down_to_us(int proc) {
  sdk::TextFile file;
  const auto status = file.read(proc, "self/status");
  if (!status) return 0;
  const auto ids = sdk::value_of(status.value, "NSpid");
  if (!ids) return 1;
  std::istringstream words{std::string(ids.value)};
  return static_cast<std::size_t>(std::distance(std::istream_iterator<std::uint64_t>(words), {}));
}

// Finds the mount point and root of the first cgroup2 mount in mountinfo. A later mount on the same
// directory hides it, and is taken instead.
void find_cgroup2(int proc, Roots& roots) {
  sdk::TextFile file;
  auto mounts = file.read_records(proc, "self/mountinfo");
  if (!mounts) return;
  for (std::string_view rest = mounts.value; !rest.empty();) {
    const std::string line(sdk::take(rest, '\n'));
    if (line.find(" - cgroup2 ") == line.npos) continue;
    std::istringstream fields(line);
    std::string id, parent, device, root, place;
    fields >> id >> parent >> device >> root >> place;
    if (roots.cgroup.empty() || place == roots.cgroup)
      roots.cgroup = place, roots.cgroup_root = root;
  }
}

// For a tree that is not our mount namespace's: tries the two usual directories.
void look_for_cgroup2(const std::string& rootfs, Roots& roots) {
  for (const char* place : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (::access((rootfs + place + "/cgroup.controllers").c_str(), F_OK) != 0) continue;
    roots.cgroup = rootfs + place;
    roots.cgroup_root = "/";
    return;
  }
}

}  // namespace

Result<Roots> open_roots(const std::string& rootfs) {
  if (!rootfs.empty() && runs_privileged())
    return Error{
        "--rootfs: a ctprof that has capabilities from its file reads no tree that somebody else "
        "made; use one without"};
  std::string prefix = rootfs;
  while (prefix.ends_with('/')) prefix.pop_back();
  Roots roots;
  roots.proc = prefix + "/proc";
  roots.sys = prefix + "/sys";
  roots.proc_fd = open_directory(roots.proc);
  if (!roots.proc_fd) return errno_error("opening the directory", roots.proc, errno);
  roots.sys_fd = open_directory(roots.sys);
  const bool procfs = is_procfs(roots.proc_fd.get());
  const std::size_t namespaces = procfs ? namespaces_down_to_us(roots.proc_fd.get()) : 0;
  roots.live = namespaces >= 1;
  roots.own_tids = namespaces == 1;
  prefix.empty() ? find_cgroup2(roots.proc_fd.get(), roots) : look_for_cgroup2(prefix, roots);
  roots.cgroup_fd = open_directory(roots.cgroup);
  return roots;
}

ctprof_host Roots::host() const {
  ctprof_host host{};
  host.size = sizeof host;
  if (live) host.flags |= CTPROF_HOST_LIVE;
  if (own_tids) host.flags |= CTPROF_HOST_OWN_TIDS;
  host.proc_fd = proc_fd.get();
  host.sys_fd = sys_fd.get();
  host.cgroup_fd = cgroup_fd.get();
  host.user_hz = static_cast<std::uint32_t>(::sysconf(_SC_CLK_TCK));
  host.proc = proc.c_str();
  host.sys = sys.c_str();
  host.cgroup = cgroup.c_str();
  if (own_tids)
    host.sample_tgid = host.sample_tid = static_cast<std::uint64_t>(::getpid());
  else if (const auto first = first_thread(proc_fd.get()); first.tid != 0)
    host.sample_tgid = first.tgid, host.sample_tid = first.tid;
  return host;
}

}  // namespace ctprof
