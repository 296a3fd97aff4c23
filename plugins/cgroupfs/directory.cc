#include "plugins/cgroupfs/directory.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "plugins/cgroupfs/path.hpp"

namespace ctprof::cgroupfs {
namespace {

constexpr int kDirectoryPath = O_PATH | O_DIRECTORY | O_CLOEXEC;

// Returns whether only domain cgroups, and no threaded ones, can have the controller.
bool is_domain_only(std::string_view controller) {
  return controller == "memory" || controller == "io";
}

}  // namespace

sdk::Fd open_beneath(int root, const char* path) {
  open_how options{};
  options.flags = static_cast<__u64>(kDirectoryPath);
  options.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  sdk::Fd fd(static_cast<int>(::syscall(SYS_openat2, root, path, &options, sizeof options)));
  // Seccomp filters of older containers reject the system call, some with EPERM.
  const bool is_unavailable = !fd && (errno == ENOSYS || errno == EPERM);
  return is_unavailable ? sdk::Fd(::openat(root, path, kDirectoryPath | O_NOFOLLOW))
                        : std::move(fd);
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty())
    if (sdk::take(words, ' ') == word) return true;
  return false;
}

Directory::Directory(const sdk::Host& host) : host_(host), mount_root_(mount_root(host)) {}

Gap Directory::open(std::string_view path) {
  facts_known_ = false;
  dir_.reset();
  auto below = path_below_mount(mount_root_, path, branch_);
  if (!below && !branch_known_) {
    branch_ = find_branch(host_, mount_root_);
    branch_known_ = true;
    below = path_below_mount(mount_root_, path, branch_);
  }
  return below ? open_below(below.value.c_str()) : below.gap;
}

Gap Directory::open_below(const char* path) {
  dir_ = open_beneath(host_.cgroup(), path);
  return dir_ ? Gap::None : gap_of(errno);
}

sdk::Reading<std::string_view> Directory::read(const char* file, std::string_view controller) {
  const auto text = file_.read(dir_.get(), file);
  if (text) return text;
  if (file_.last_errno() != ENOENT) return gap_of(file_.last_errno());
  if (facts().gap != Gap::None) return facts().gap;
  return controller.empty() ? Gap::Unsupported : gap_without_controller(controller);
}

Gap Directory::gap_without_controller(std::string_view controller) {
  const Facts& cgroup_facts = facts();
  if (cgroup_facts.gap != Gap::None) return cgroup_facts.gap;
  if (cgroup_facts.is_root) return Gap::NotApplicable;
  if (has_word(cgroup_facts.controllers, controller)) return Gap::Unsupported;
  return cgroup_facts.is_threaded && is_domain_only(controller) ? Gap::NotApplicable
                                                                : Gap::SwitchedOff;
}

const Directory::Facts& Directory::facts() {
  if (!facts_known_) facts_ = read_facts();
  facts_known_ = true;
  return facts_;
}

// Reads cgroup.type first, because every cgroup has cgroup.controllers and all except the root of
// the hierarchy have cgroup.type. In this order, a cgroup that is removed between the two reads is
// not mistaken for the root.
Directory::Facts Directory::read_facts() {
  Facts facts;
  const auto type = facts_file_.read(dir_.get(), "cgroup.type");
  facts.is_root = !type && facts_file_.last_errno() == ENOENT;
  facts.is_threaded = type && sdk::trimmed(type.value) == "threaded";
  const auto controllers = facts_file_.read(dir_.get(), "cgroup.controllers");
  if (!controllers) facts.gap = gap_of(facts_file_.last_errno());
  if (controllers) facts.controllers = sdk::trimmed(controllers.value);
  return facts;
}

// Returns the gap of a missing cgroup. Nothing disappears from a recorded tree: what is missing
// there was not recorded.
Gap Directory::gap_of_missing_cgroup() const {
  return host_.live() ? Gap::ThreadGone : Gap::Unsupported;
}

Gap Directory::gap_of(int error) const {
  switch (error) {
    case ENOENT:
    case ENODEV:
      return gap_of_missing_cgroup();          // the cgroup was removed while a file of it was open
    case EOPNOTSUPP: return Gap::SwitchedOff;  // pressure, if the kernel was started without it
    case ENAMETOOLONG: return Gap::Unsupported;
    default: return gap_of_errno(error);
  }
}

}  // namespace ctprof::cgroupfs
