#include "plugins/jemalloc-ptrace/finder/target_file.hpp"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <string>

namespace ctprof::jemalloc {
namespace {

constexpr unsigned kAnonymousMajor = 0;

OpenedFile failed() { return {sdk::Fd(), {}, errno}; }
OpenedFile failed(int error) { return {sdk::Fd(), {}, error}; }

bool allowed(Watch* watch, const Ahead& ahead) { return watch == nullptr || watch->allows(ahead); }

// Opens the file of a descriptor that only names it, once its type is known to be safe.
OpenedFile opened(const sdk::Fd& named, Watch* watch) {
  if (!named) return failed();
  struct statx status {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO;
  if (::statx(named.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &status) != 0)
    return failed();
  if (!S_ISREG(status.stx_mode)) return failed(ENOENT);
  const FileId id{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
  if (!allowed(watch, {.operation = Operation::File, .device = id.device})) return failed(EBUSY);
  const std::string self = "/proc/self/fd/" + std::to_string(named.get());
  sdk::Fd fd(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return failed();
  return {std::move(fd), id, 0};
}

sdk::Fd name(int directory, const std::string& path) {
  return sdk::Fd(::openat(directory, path.c_str(), O_PATH | O_CLOEXEC));
}

// Returns whether the opened file is that of the mapping. File systems without a device of their
// own show different devices in stat and in maps.
bool same(const OpenedFile& opened, const FileId& mapped) {
  const bool anonymous = major(mapped.device) == kAnonymousMajor;
  return opened.fd && opened.id.inode == mapped.inode &&
         (opened.id.device == mapped.device || anonymous);
}

}  // namespace

sdk::Fd root_of(int proc, std::uint64_t tgid) {
  return sdk::Fd(
      ::openat(proc, (std::to_string(tgid) + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

OpenedFile open_under(int root, const char* path, Watch* watch) {
  if (!allowed(watch, {.operation = Operation::Walk})) return failed(EBUSY);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return opened(sdk::Fd(static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how))),
                watch);
}

OpenedFile open_mapped(int proc, std::uint64_t tgid, const MappedFile& file, Watch* watch) {
  if (!allowed(watch, {.operation = Operation::File, .device = file.file.device}))
    return failed(EBUSY);
  const std::string process = std::to_string(tgid);
  if (!allowed(watch, {.operation = Operation::Mappings})) return failed(EBUSY);
  if (auto mapped = opened(name(proc, process + "/map_files/" + file.range), watch);
      mapped.fd || mapped.error == EBUSY)
    return mapped;
  if (auto program = opened(name(proc, process + "/exe"), watch); same(program, file.file))
    return program;
  const auto root = root_of(proc, tgid);
  if (!root) return failed();
  auto named = open_under(root.get(), file.path.c_str(), watch);
  if (named.fd && !same(named, file.file)) return failed(ENOENT);
  return named;
}

}  // namespace ctprof::jemalloc
