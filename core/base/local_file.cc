#include "core/base/local_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <optional>

namespace ctprof {
namespace {

std::optional<std::uint64_t> mount_id_at(int directory, const char* path, int flags) {
  struct statx status {};
  const bool is_known =
      ::statx(directory, path, flags | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status) == 0 &&
      (status.stx_mask & STATX_MNT_ID) != 0;
  return is_known ? std::optional(std::uint64_t{status.stx_mnt_id}) : std::nullopt;
}

bool is_on_root_mount(int fd) {
  const auto mount = mount_id_at(fd, "", AT_EMPTY_PATH);
  return mount && mount == mount_id_at(AT_FDCWD, "/", 0);
}

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

bool is_regular(int descriptor, struct stat& status) {
  return descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

sdk::Fd reopen_for_reading(int descriptor) {
  return sdk::Fd(
      ::open(descriptor_path(descriptor).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

std::string read_path_of_descriptor(int fd) {
  char path[PATH_MAX];
  const ssize_t size = ::readlink(descriptor_path(fd).c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

std::uint64_t read_root_device() {
  struct stat status {};
  return ::stat("/", &status) == 0 ? status.st_dev : 0;
}

bool is_local(int fd, dev_t device) {
  if (major(device) != 0 || device == read_root_device() || is_on_root_mount(fd)) return true;
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == BTRFS_SUPER_MAGIC;
}

sdk::Fd copy_in_memory(int fd, std::uint64_t bytes) {
  sdk::Fd copy(::memfd_create("file", MFD_CLOEXEC));
  if (!copy) return sdk::Fd();
  const auto end = static_cast<off_t>(bytes);
  for (off_t offset = 0; offset < end;) {
    const ssize_t count =
        ::sendfile(copy.get(), fd, &offset, static_cast<std::size_t>(end - offset));
    if (count <= 0) return sdk::Fd();
  }
  return copy;
}

}  // namespace ctprof
