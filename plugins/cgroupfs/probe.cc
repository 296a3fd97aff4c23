#include "plugins/cgroupfs/probe.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "plugins/cgroupfs/directory.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::cgroupfs {
namespace {

constexpr int kListedDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

bool has_controller(int dir, std::string_view controller) {
  sdk::TextFile file;
  const auto words = file.read(dir, "cgroup.controllers");
  return words && has_word(sdk::trimmed(words.value), controller);
}

// Returns the first child that has the controller.
sdk::Fd find_child_with_controller(int parent, std::string_view controller) {
  const int fd = ::openat(parent, ".", kListedDirectory);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fd < 0 ? nullptr : ::fdopendir(fd), &::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    if (entry->d_name[0] == '.' || entry->d_type != DT_DIR) continue;
    sdk::Fd child(::openat(fd, entry->d_name, kListedDirectory));
    if (child && has_controller(child.get(), controller)) return child;
  }
  return sdk::Fd();
}

// Returns whether process 1 is the host's init: a container with its own PID namespace has another
// one. In a recording it is assumed to be the host's.
bool sees_host_init(const sdk::Host& host) {
  return !host.live() || is_in_initial_namespace(host, InitialNamespace::Pid);
}

}  // namespace

Sample::Sample(const sdk::Host& host, std::string_view controller) {
  if (!has_controller(host.cgroup(), controller)) return;  // nor has any cgroup below it
  const bool is_root = is_absent(host.cgroup(), "cgroup.type");
  dir_ = is_root ? find_child_with_controller(host.cgroup(), controller)
                 : sdk::Fd(::openat(host.cgroup(), ".", kListedDirectory));
}

bool Sample::lacks(const char* file) const { return is_absent(dir_.get(), file); }

// systemd has its own option. Another init decides itself what to mount; but if v2 is mounted, a
// kernel option can deny v1 all controllers.
sdk::Remedy remedy_for_unified_hierarchy(const sdk::Host& host) {
  if (!sees_host_init(host)) return {};
  sdk::TextFile file;
  const auto init = file.read(host.proc(), "1/comm");
  if (init && sdk::trimmed(init.value) == "systemd")
    return sdk::by_boot("systemd.unified_cgroup_hierarchy=1");
  return init && host.cgroup() >= 0
             ? sdk::by_boot(
                   "cgroup_no_v1=all, which detaches the controllers from cgroup v1 mounts")
             : sdk::Remedy{};
}

}  // namespace ctprof::cgroupfs
