#include "plugins/cgroup-v1/cpu_hierarchy.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "plugins/cgroupfs/directory.hpp"
#include "plugins/cgroupfs/path.hpp"
#include "plugins/cgroupfs/v1_lines.hpp"

namespace ctprof::cgroup_v1 {
namespace {

// Adds the children of an open cgroup, as paths below the mount.
void add_children(int directory, const std::string& path, std::vector<std::string>& paths) {
  const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listed(fd < 0 ? nullptr : ::fdopendir(fd), &::closedir);
  while (const dirent* entry = listed ? ::readdir(listed.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (entry->d_type != DT_DIR || name == "." || name == "..") continue;
    if (paths.size() == kMaxCgroups)
      throw std::runtime_error("there are more than " + std::to_string(kMaxCgroups) +
                               " cgroups in the v1 hierarchy of the cpu controller");
    paths.push_back(path + "/" + entry->d_name);
  }
}

}  // namespace

CpuHierarchy::CpuHierarchy(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host, host.sample(), "cgroup");
  const auto line = text ? cgroupfs::find_v1_line(text.value, kController) : std::nullopt;
  // The kernel's names of controllers have no slash, but a recorded tree can contain any text.
  if (!line || line->controllers.find('/') != line->controllers.npos) return;
  controllers_ = line->controllers;
  directory_ = cgroupfs::open_beneath(host.sys(), mount_point().c_str());
  if (directory_) mount_root_ = cgroupfs::mount_root(host, directory_.get());
}

std::string CpuHierarchy::mount_point() const { return "fs/cgroup/" + controllers_; }

bool CpuHierarchy::has_paths_of_processes() const { return !mount_root_.starts_with("/.."); }

void CpuHierarchy::for_each_cgroup(const Visit& visit) const {
  const std::string prefix = mount_root_ == "/" ? "" : mount_root_;
  std::vector<std::string> paths{""};  // below the mount, beginning with a slash
  for (std::size_t at = 0; at < paths.size(); ++at) {
    const std::string path = paths[at];
    const sdk::Fd opened = cgroupfs::open_beneath(directory_.get(), ("." + path).c_str());
    if (!opened && errno == ENOENT) continue;
    const Gap gap = opened ? Gap::None : gap_of_errno(errno);
    if (opened) add_children(opened.get(), path, paths);
    const std::string full_path = prefix + path;
    visit(full_path.empty() ? "/" : full_path, opened.get(), gap);
  }
}

}  // namespace ctprof::cgroup_v1
