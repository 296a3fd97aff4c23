#include "core/capture/roots.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string_view>

#include "core/base/clock.hpp"
#include "core/base/dropped_capabilities.hpp"
#include "core/registry/loader.hpp"

namespace ctprof {
namespace {

bool parse_number(const char* name, std::uint64_t& out) {
  const char* end = name + std::strlen(name);
  const auto [stop, error] = std::from_chars(name, end, out);
  return error == std::errc{} && stop == end && out > 0;
}

}  // namespace

bool Walker::read_numbers(int directory, std::vector<std::uint64_t>& out) {
  for (;;) {
    const ssize_t size = ::getdents64(directory, buffer_.data(), buffer_.size());
    if (size <= 0) return size == 0;
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at);
      if (std::uint64_t number = 0; parse_number(entry->d_name, number)) out.push_back(number);
      at += entry->d_reclen;
    }
  }
}

Result<std::vector<std::uint64_t>> Walker::processes(int proc) {
  const sdk::Fd directory(::openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::uint64_t> tgids;
  if (!directory || !read_numbers(directory.get(), tgids))
    return errno_error("listing the processes in", "/proc", errno);
  std::sort(tgids.begin(), tgids.end());
  return tgids;
}

int Walker::threads(int proc, std::uint64_t tgid, std::vector<ThreadId>& out) {
  char path[48];
  std::snprintf(path, sizeof path, "%llu/task", static_cast<unsigned long long>(tgid));
  const sdk::Fd directory(::openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno;
  std::vector<std::uint64_t> tids;
  read_numbers(directory.get(), tids);
  std::sort(tids.begin(), tids.end());
  for (const std::uint64_t tid : tids) out.push_back({tgid, tid});
  return 0;
}

ThreadId find_first_thread(int proc) {
  Walker walker;
  sdk::TextFile file;
  ThreadId fallback;
  const auto tgids = walker.processes(proc);
  if (!tgids) return fallback;
  for (const std::uint64_t tgid : *tgids) {
    std::vector<ThreadId> threads;
    walker.threads(proc, tgid, threads);
    if (threads.empty()) continue;
    if (fallback.tid == 0) fallback = threads.front();
    // A process with user memory has more files to test than a kernel thread.
    const std::string smaps = std::to_string(tgid) + "/smaps_rollup";
    if (file.read(proc, smaps.c_str())) return threads.front();
  }
  return fallback;
}

namespace {

sdk::Fd open_directory(const std::string& path) {
  return sdk::Fd(path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool is_procfs(int fd) {
  struct statfs status {};
  return ::fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

// Returns the number of PID namespaces from this procfs down to ours, including ours. 1: its ids
// are valid for us. 0: we are not in it.
std::size_t count_pid_namespaces(int proc) {
  sdk::TextFile file;
  const auto status = file.read(proc, "self/status");
  if (!status) return 0;
  const auto ids = sdk::value_of(status.value, "NSpid");
  if (!ids) return 1;
  std::istringstream words{std::string(ids.value)};
  return static_cast<std::size_t>(std::distance(std::istream_iterator<std::uint64_t>(words), {}));
}

// Finds the mount point and root of the first cgroup2 mount in mountinfo. A later mount on the same
// directory hides it and replaces it.
void find_cgroup2(int proc, Roots& roots) {
  sdk::TextFile file;
  auto mounts = file.read_records(proc, "self/mountinfo");
  if (!mounts) return;
  for (std::string_view rest = mounts.value; !rest.empty();) {
    const std::string line(sdk::take(rest, '\n'));
    if (line.find(" - cgroup2 ") == line.npos) continue;
    std::istringstream fields(line);
    std::string id, parent, device, root, mount_point;
    fields >> id >> parent >> device >> root >> mount_point;
    if (roots.cgroup.empty() || mount_point == roots.cgroup)
      roots.cgroup = mount_point, roots.cgroup_root = root;
  }
}

// Tries the two usual directories, for a tree outside our mount namespace.
void search_cgroup2(const std::string& rootfs, Roots& roots) {
  for (const char* directory : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (::access((rootfs + directory + "/cgroup.controllers").c_str(), F_OK) != 0) continue;
    roots.cgroup = rootfs + directory;
    roots.cgroup_root = "/";
    return;
  }
}

}  // namespace

Result<Roots> open_roots(const std::string& rootfs) {
  if (!rootfs.empty() && runs_privileged())
    return Error{
        "--rootfs: not permitted while the executable of ctprof has file capabilities, because the "
        "tree may contain links; use a copy of ctprof without capabilities"};
  std::string prefix = rootfs;
  while (prefix.ends_with('/')) prefix.pop_back();
  Roots roots;
  roots.proc = prefix + "/proc";
  roots.sys = prefix + "/sys";
  roots.proc_fd = open_directory(roots.proc);
  if (!roots.proc_fd) return errno_error("opening the directory", roots.proc, errno);
  roots.sys_fd = open_directory(roots.sys);
  const bool procfs = is_procfs(roots.proc_fd.get());
  const std::size_t namespaces = procfs ? count_pid_namespaces(roots.proc_fd.get()) : 0;
  roots.is_live = namespaces >= 1;
  roots.has_own_tids = namespaces == 1;
  prefix.empty() ? find_cgroup2(roots.proc_fd.get(), roots) : search_cgroup2(prefix, roots);
  roots.cgroup_fd = open_directory(roots.cgroup);
  return roots;
}

namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_below(int root, const std::string& path) {
  const int fd = ::openat(root, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  Directory directory(fd < 0 ? nullptr : ::fdopendir(fd), &::closedir);
  if (!directory && fd >= 0) ::close(fd);
  return directory;
}

// Walks the hierarchy level by level.
class CgroupWalk {
 public:
  CgroupWalk(const Roots& roots, std::size_t max_cgroups)
      : root_(roots.cgroup_fd.get()),
        root_path_(roots.cgroup_root == "/" ? "" : roots.cgroup_root),
        max_cgroups_(max_cgroups) {}

  CgroupList run(std::uint64_t deadline_ns) {
    struct stat status {};
    if (::fstat(root_, &status) != 0) return {};
    device_ = status.st_dev;
    list_.is_complete = true;
    list_.entries.push_back({root_path_.empty() ? "/" : root_path_, status.st_ino});
    for (std::size_t at = 0; at < list_.entries.size() && list_.is_complete; ++at) {
      list_.is_complete = monotonic_ns() < deadline_ns;
      add_children(list_.entries[at].path.substr(root_path_.size()));
    }
    return std::move(list_);
  }

 private:
  void add_children(const std::string& path) {
    const Directory directory = open_below(root_, "./" + path);
    // A removed cgroup has no children.
    if (!directory) return void(list_.is_complete &= errno == ENOENT);
    struct stat status {};
    if (::fstat(::dirfd(directory.get()), &status) != 0 || status.st_dev != device_) return;
    const std::string prefix = root_path_ + (path == "/" ? path : path + "/");
    while (const dirent* entry = ::readdir(directory.get())) {
      if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
      if (list_.entries.size() == max_cgroups_) return void(list_.is_complete = false);
      list_.entries.push_back({prefix + entry->d_name, entry->d_ino});
    }
  }

  int root_;
  std::string root_path_;
  std::size_t max_cgroups_;
  dev_t device_ = 0;
  CgroupList list_;
};

}  // namespace

CgroupList list_cgroups(const Roots& roots, std::size_t max_cgroups, std::uint64_t max_ns) {
  if (!roots.is_live || !roots.cgroup_fd || roots.cgroup_root.starts_with("/..")) return {};
  return CgroupWalk(roots, max_cgroups).run(monotonic_ns() + max_ns);
}

namespace {

// Opens a directory below `root`, one component at a time, like openat2() with RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS, but also on kernels and in sandboxes without openat2(). Sets errno on
// failure.
sdk::Fd open_beneath(int root, std::string_view path) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  sdk::Fd directory(::openat(root, ".", kFlags));
  while (directory && !path.empty()) {
    const std::string name(sdk::take(path, '/'));
    if (name == "..") return errno = EINVAL, sdk::Fd();
    if (!name.empty()) directory.reset(::openat(directory.get(), name.c_str(), kFlags));
  }
  return directory;
}

// Returns the id of an open cgroup. REQUIRES: roots.is_live.
std::uint64_t id_of(const sdk::Fd& cgroup) {
  struct stat status {};
  return ::fstat(cgroup.get(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

Result<std::uint64_t> find_cgroup(const Roots& roots, const std::string& path) {
  if (!roots.cgroup_fd)
    return error("looking for cgroup", path, "no cgroup v2 hierarchy is mounted");
  const std::string root_path = roots.cgroup_root == "/" ? "" : roots.cgroup_root;
  if (!(path + "/").starts_with(root_path + "/")) return 0;
  const DroppedCapabilities rights(runs_privileged());
  if (!rights) return errno_error("dropping the capabilities to look for cgroup", path, errno);
  const sdk::Fd cgroup = open_beneath(roots.cgroup_fd.get(), path.substr(root_path.size()));
  if (!cgroup && root_path.empty()) return errno_error("looking for cgroup", path, errno);
  return cgroup && roots.is_live ? id_of(cgroup) : 0;
}

ctprof_host Roots::host() const {
  ctprof_host host{};
  host.size = sizeof host;
  if (is_live) host.flags |= CTPROF_HOST_LIVE;
  if (has_own_tids) host.flags |= CTPROF_HOST_OWN_TIDS;
  host.proc_fd = proc_fd.get();
  host.sys_fd = sys_fd.get();
  host.cgroup_fd = cgroup_fd.get();
  host.user_hz = static_cast<std::uint32_t>(clock_ticks_per_second());
  host.proc = proc.c_str();
  host.sys = sys.c_str();
  host.cgroup = cgroup.c_str();
  if (has_own_tids)
    host.sample_tgid = host.sample_tid = static_cast<std::uint64_t>(::getpid());
  else if (const auto first = find_first_thread(proc_fd.get()); first.tid != 0)
    host.sample_tgid = first.tgid, host.sample_tid = first.tid;
  return host;
}

}  // namespace ctprof
