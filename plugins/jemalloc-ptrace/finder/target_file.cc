#include "plugins/jemalloc-ptrace/finder/target_file.hpp"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <string>

namespace ctprof::jemalloc {
namespace {

constexpr unsigned kAnonymousMajor = 0;

OpenedFile make_failure() { return {sdk::Fd(), {}, errno}; }
OpenedFile make_failure(int error) { return {sdk::Fd(), {}, error}; }

bool is_allowed(AccessMonitor* watch, const Access& next_access) {
  return watch == nullptr || watch->allows(next_access);
}

// Opens the file of a descriptor that only names it, once its type is known to be safe.
OpenedFile open_regular_file(const sdk::Fd& path_fd, AccessMonitor* watch) {
  if (!path_fd) return make_failure();
  struct statx status {};
  constexpr unsigned kStatxMask = STATX_TYPE | STATX_INO;
  if (::statx(path_fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kStatxMask, &status) != 0)
    return make_failure();
  if (!S_ISREG(status.stx_mode)) return make_failure(ENOENT);
  const FileId id{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
  if (!is_allowed(watch, {.operation = Operation::File, .device = id.device}))
    return make_failure(EBUSY);
  const std::string self = "/proc/self/fd/" + std::to_string(path_fd.get());
  sdk::Fd fd(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return make_failure();
  return {std::move(fd), id, 0};
}

sdk::Fd open_path(int directory, const std::string& path) {
  return sdk::Fd(::openat(directory, path.c_str(), O_PATH | O_CLOEXEC));
}

// Returns whether the opened file is that of the mapping. File systems without a device of their
// own show different devices in stat and in maps.
bool is_same_file(const OpenedFile& opened, const FileId& mapped) {
  const bool has_anonymous_device = major(mapped.device) == kAnonymousMajor;
  return opened.fd && opened.id.inode == mapped.inode &&
         (opened.id.device == mapped.device || has_anonymous_device);
}

}  // namespace

sdk::Fd open_root(int proc, std::uint64_t tgid) {
  return sdk::Fd(
      ::openat(proc, (std::to_string(tgid) + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

OpenedFile open_in_root(int root, const char* path, AccessMonitor* watch) {
  if (!is_allowed(watch, {.operation = Operation::Walk})) return make_failure(EBUSY);
  open_how options{};
  options.flags = O_PATH | O_CLOEXEC;
  options.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return open_regular_file(
      sdk::Fd(static_cast<int>(::syscall(SYS_openat2, root, path, &options, sizeof options))),
      watch);
}

OpenedFile open_mapped(int proc, std::uint64_t tgid, const MappedFile& file, AccessMonitor* watch) {
  if (!is_allowed(watch, {.operation = Operation::File, .device = file.file.device}))
    return make_failure(EBUSY);
  const std::string process = std::to_string(tgid);
  if (!is_allowed(watch, {.operation = Operation::Mappings})) return make_failure(EBUSY);
  if (auto mapped = open_regular_file(open_path(proc, process + "/map_files/" + file.range), watch);
      mapped.fd || mapped.error == EBUSY)
    return mapped;
  if (auto program = open_regular_file(open_path(proc, process + "/exe"), watch);
      is_same_file(program, file.file))
    return program;
  const auto root = open_root(proc, tgid);
  if (!root) return make_failure();
  auto named = open_in_root(root.get(), file.path.c_str(), watch);
  if (named.fd && !is_same_file(named, file.file)) return make_failure(ENOENT);
  return named;
}

}  // namespace ctprof::jemalloc
