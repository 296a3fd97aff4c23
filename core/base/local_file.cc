#include "core/base/local_file.hpp"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <cstddef>

namespace ctprof {

std::uint64_t root_device() {
  struct stat status {};
  return ::stat("/", &status) == 0 ? status.st_dev : 0;
}

bool is_local(int fd, dev_t device) {
  static const std::uint64_t root = root_device();
  if (major(device) != 0 || device == root) return true;
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == BTRFS_SUPER_MAGIC;
}

sdk::Fd copy_in_memory(int fd, std::uint64_t bytes) {
  sdk::Fd copy(::memfd_create("file", MFD_CLOEXEC));
  if (!copy) return sdk::Fd();
  const auto end = static_cast<off_t>(bytes);
  for (off_t at = 0; at < end;) {
    const ssize_t got = ::sendfile(copy.get(), fd, &at, static_cast<std::size_t>(end - at));
    if (got <= 0) return sdk::Fd();
  }
  return copy;
}

}  // namespace ctprof
