#include "core/file/write/destination.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/base/own_files.hpp"

namespace ctprof {
namespace {

constexpr mode_t kWorldWritable = S_ISVTX | S_IWOTH;
constexpr mode_t kPermissions = 0777;

// Returns the directory part of a path: empty for a name without a slash, otherwise with the
// trailing slash, so that the kernel follows a link to a directory.
std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns the kernel's path of an open file, which contains no links; empty, with errno set, on
// failure.
std::string path_of(int fd) {
  std::array<char, PATH_MAX> path;
  const ssize_t size =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
  return size < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(size));
}

bool is_world_writable(int directory) {
  struct stat found {};
  return ::fstat(directory, &found) == 0 && (found.st_mode & kWorldWritable) == kWorldWritable;
}

// Describes why the kernel refused to follow a link.
Error link_error(const std::string& path, int directory, int number) {
  if (number == EACCES && is_world_writable(directory))
    return error(
        "writing", path,
        "Permission denied: it is another user's symbolic link in a world-writable directory, and "
        "fs.protected_symlinks forbids following it; name the target of the link");
  if (number == ENOENT)
    return error("writing", path,
                 "it is a symbolic link to a missing file; create that file or name it directly");
  return errno_error("writing", path, number);
}

}  // namespace

Result<Destination> Destination::resolve(const std::string& path) {
  if (path == "-") return Destination(path, Kind::StandardOutput);
  Destination place(path, Kind::File);
  CTPROF_TRY(place.open_directory(path));
  CTPROF_TRY(place.check_existing());
  return place;
}

Result<void> Destination::open_directory(const std::string& path) {
  const std::string directory = directory_of(path);
  directory_.reset(
      ::open(directory.empty() ? "." : directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) return write_error(errno);
  name_ = name_of(path);
  return {};
}

Result<void> Destination::check_existing() {
  if (name_.empty()) return write_error(EISDIR);
  struct stat found {};
  if (::fstatat(directory(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<void>() : write_error(errno);
  if (S_ISLNK(found.st_mode)) return follow_link();
  if (S_ISDIR(found.st_mode)) return write_error(EISDIR);
  return S_ISREG(found.st_mode) ? check_replaceable() : use_stream();
}

// Lets the kernel follow the link, and reads the resulting path. Fails if that path refers to
// another file by now, because somebody is changing it.
Result<void> Destination::follow_link() {
  const sdk::Fd target(::openat(directory(), name_.c_str(), O_PATH | O_CLOEXEC));
  if (!target) return link_error(path_, directory(), errno);
  struct stat target_status {};
  struct stat named_status {};
  if (::fstat(target.get(), &target_status) != 0) return write_error(errno);
  if (S_ISDIR(target_status.st_mode)) return write_error(EISDIR);
  if (!S_ISREG(target_status.st_mode)) return use_stream();
  const std::string real = path_of(target.get());
  if (real.empty()) return write_error(errno);
  CTPROF_TRY(open_directory(real));
  const bool is_found =
      ::fstatat(directory(), name_.c_str(), &named_status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_found || named_status.st_dev != target_status.st_dev ||
      named_status.st_ino != target_status.st_ino)
    return error(
        "writing", path_,
        "the target of this link was deleted or renamed and cannot be replaced; name another file");
  return check_replaceable();
}

// Another user could create a pipe in a world-writable directory and read everything that is
// written to it. The kernel checks such pipes (fs.protected_fifos) only on an open with O_CREAT.
Result<void> Destination::use_stream() {
  kind_ = Kind::Stream;
  struct stat found {};
  struct stat directory_status {};
  const bool is_pipe = ::fstatat(directory(), name_.c_str(), &found, 0) == 0 &&
                       S_ISFIFO(found.st_mode) && ::fstat(directory(), &directory_status) == 0;
  if (is_pipe && is_world_writable(directory()) && found.st_uid != ::geteuid() &&
      found.st_uid != directory_status.st_uid)
    return error("writing", path_,
                 "it is a pipe of user " + std::to_string(found.st_uid) +
                     " in a world-writable directory; choose another name");
  return ::faccessat(directory(), name_.c_str(), W_OK, AT_EACCESS) == 0 ? Result<void>()
                                                                        : write_error(errno);
}

// Checks whether an existing file may be replaced. Uses O_CREAT, because fs.protected_regular
// checks only such opens. Does not change the file. O_NONBLOCK avoids waiting if a pipe has
// replaced it.
Result<void> Destination::check_replaceable() const {
  constexpr int kOpenFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const sdk::Fd file(::openat(directory(), name_.c_str(), kOpenFlags, S_IRUSR | S_IWUSR));
  if (!file && errno == EACCES && is_world_writable(directory()))
    return error("writing", path_,
                 "Permission denied: it may be another user's file in a world-writable directory, "
                 "which fs.protected_regular protects; choose another name");
  return file ? Result<void>() : write_error(errno);
}

Result<std::optional<Destination::Access>> Destination::access_of_replaced_file() const {
  struct stat found {};
  if (::fstatat(directory(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<std::optional<Access>>(std::nullopt) : write_error(errno);
  if (!S_ISREG(found.st_mode))
    return error("writing", path_,
                 "meanwhile it was replaced by something other than a regular file");
  if (!is_own_file(found)) return std::optional<Access>();
  return std::optional<Access>({found.st_mode & kPermissions, found.st_gid});
}

}  // namespace ctprof
