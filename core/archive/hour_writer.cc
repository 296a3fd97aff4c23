#include "core/archive/hour_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/own_files.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
// There is only one recorder at a time, so it can overwrite temporary files of a killed one.
constexpr const char* kNewFile = ".ctprof-new";
constexpr const char* kNewIndex = ".ctprof-index";

int write_at(int fd, std::uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return 0;
}

int write_and_sync(int fd, std::uint64_t at, std::string_view bytes, bool sync) {
  if (const int failed = write_at(fd, at, bytes); failed != 0) return failed;
  return sync && ::fsync(fd) != 0 ? errno : 0;
}

// Ignores errors of file systems that cannot sync a directory, because the contents are on disk.
void sync_directory(int directory) {
  const sdk::Fd readable(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (readable) ::fsync(readable.get());
}

sdk::Fd create_file(int directory, const char* name) {
  ::unlinkat(directory, name, 0);
  return sdk::Fd(::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
}

// Writes a new file through a temporary name, if O_TMPFILE or /proc is unavailable.
int write_new_file_by_rename(int directory, const std::string& name, std::string_view bytes,
                             bool sync) {
  sdk::Fd file = create_file(directory, kNewFile);
  if (!file) return errno;
  int failed = write_and_sync(file.get(), 0, bytes, sync);
  // Some file systems report a full disk only on close.
  if (::close(file.release()) != 0 && failed == 0) failed = errno;
  if (failed == 0 &&
      ::renameat2(directory, kNewFile, directory, name.c_str(), RENAME_NOREPLACE) != 0)
    failed = errno;
  if (failed != 0) ::unlinkat(directory, kNewFile, 0);
  return failed;
}

}  // namespace

int write_new_file(int directory, const std::string& name, std::string_view bytes, bool sync) {
  const sdk::Fd file(::openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kOwnerOnly));
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  int failed = 0;
  if (!file || ::access(link.c_str(), F_OK) != 0) {
    failed = write_new_file_by_rename(directory, name, bytes, sync);
  } else {
    failed = write_and_sync(file.get(), 0, bytes, sync);
    if (failed == 0 &&
        ::linkat(AT_FDCWD, link.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      failed = errno;
  }
  if (failed == 0 && sync) sync_directory(directory);
  return failed;
}

int append_to_file(int directory, const std::string& name, std::uint64_t complete_bytes,
                   std::string_view bytes, bool sync) {
  const sdk::Fd file(
      ::openat(directory, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return errno;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!is_own_file(status)) return EPERM;
  if (size < complete_bytes) return ESTALE;
  const auto end = static_cast<off_t>(complete_bytes);
  if (size > complete_bytes && ::ftruncate(file.get(), end) != 0) return errno;
  const int failed = write_and_sync(file.get(), complete_bytes, bytes, sync);
  if (failed != 0 && ::ftruncate(file.get(), end) != 0) return failed;
  return failed;
}

int replace_file(int directory, const std::string& name, std::string_view text) {
  sdk::Fd file = create_file(directory, kNewIndex);
  if (!file) return errno;
  int failed = write_and_sync(file.get(), 0, text, false);
  if (::close(file.release()) != 0 && failed == 0) failed = errno;
  if (failed == 0 && ::renameat(directory, kNewIndex, directory, name.c_str()) != 0) failed = errno;
  if (failed != 0) ::unlinkat(directory, kNewIndex, 0);
  return failed;
}

}  // namespace ctprof
