#include "core/file/write/destination.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/own_files.hpp"

namespace ctprof {
namespace {

constexpr mode_t kWorldWritable = S_ISVTX | S_IWOTH;
constexpr mode_t kPermissions = 0777;
constexpr int kMaxLinks = 40;  // of the kernel
constexpr unsigned kMemoryDevices = 1;
constexpr std::array<unsigned, 3> kDiscardingDevices{3, 5, 7};  // null, zero, full

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

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool is_trusted(const struct stat& file) { return file.st_uid == ::geteuid() || file.st_uid == 0; }

// In a user namespace, root of the host, who owns these devices, has no id.
bool discards_data(const struct stat& file) {
  return S_ISCHR(file.st_mode) && major(file.st_rdev) == kMemoryDevices &&
         std::ranges::find(kDiscardingDevices, minor(file.st_rdev)) != kDiscardingDevices.end();
}

// Returns whether the file is the terminal of this process. After su or sudo, the terminal belongs
// to the first user.
bool is_own_terminal(const struct stat& file) {
  struct stat own {};
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::isatty(fd) == 1 && ::fstat(fd, &own) == 0 && is_same_file(own, file)) return true;
  return false;
}

// Returns whether the directory is /proc/self/fd, whose links lead to files that this process has
// open.
bool is_descriptor_directory(int directory) {
  struct stat found {};
  struct stat own {};
  return ::fstat(directory, &found) == 0 && ::stat("/proc/self/fd", &own) == 0 &&
         is_same_file(found, own);
}

// Returns the contents of a link; empty on failure.
std::string read_link(int link) {
  std::array<char, PATH_MAX> path;
  const ssize_t size = ::readlinkat(link, "", path.data(), path.size());
  return size < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(size));
}

Error foreign_error(const std::string& path, const std::string& kind, const struct stat& status,
                    const std::string& advice) {
  return error("writing", path,
               "it is " + kind + " of user " + std::to_string(status.st_uid) + "; " + advice);
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

Result<Destination> Destination::resolve_in(int directory, const std::string& name,
                                            const std::string& path) {
  Destination place(path, Kind::File);
  place.directory_.reset(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!place.directory_) return place.write_error(errno);
  place.name_ = name;
  struct stat found {};
  if (::fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<Destination>(std::move(place)) : place.write_error(errno);
  if (!S_ISREG(found.st_mode))
    return error("writing", path, "it is not a regular file; remove it, or name a new directory");
  if (auto check_result = place.check_replaceable(); !check_result) return check_result.error();
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
  sdk::Fd file(::openat(directory(), name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return errno == ENOENT ? Result<void>() : write_error(errno);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return write_error(errno);
  if (S_ISLNK(found.st_mode)) return follow_link();
  if (S_ISDIR(found.st_mode)) return write_error(EISDIR);
  return S_ISREG(found.st_mode) ? check_replaceable() : use_stream(std::move(file), false);
}

// Follows the links as the kernel does, and checks the owner of each one. Also fails if they no
// longer lead to `target`, because another process changes them. Returns whether the last one is a
// descriptor of this process.
Result<bool> Destination::check_links(const struct stat& target) const {
  sdk::Fd at(::openat(directory(), ".", O_PATH | O_CLOEXEC));
  std::string name = name_;
  for (int links = 0; links < kMaxLinks; ++links) {
    if (is_descriptor_directory(at.get())) return true;
    const sdk::Fd file(::openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return write_error(errno);
    if (is_same_file(status, target)) return false;
    if (!S_ISLNK(status.st_mode)) break;
    if (!is_trusted(status))
      return foreign_error(path_, "a symbolic link", status, "name the file that it leads to");
    const std::string next = read_link(file.get());
    const std::string next_directory = directory_of(next);
    if (!next_directory.empty())
      at.reset(::openat(at.get(), next_directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    name = name_of(next);
  }
  return error("writing", path_, "its links are being changed; name the file that they lead to");
}

// Lets the kernel follow the link, and reads the resulting path. Fails if that path no longer
// refers to that file, because another process changes it.
Result<void> Destination::follow_link() {
  sdk::Fd target(::openat(directory(), name_.c_str(), O_PATH | O_CLOEXEC));
  if (!target) return link_error(path_, directory(), errno);
  struct stat target_status {};
  struct stat named_status {};
  if (::fstat(target.get(), &target_status) != 0) return write_error(errno);
  if (S_ISDIR(target_status.st_mode)) return write_error(EISDIR);
  const auto is_inherited = check_links(target_status);
  if (!is_inherited) return is_inherited.error();
  if (!S_ISREG(target_status.st_mode)) return use_stream(std::move(target), *is_inherited);
  const std::string real = path_of(target.get());
  if (real.empty()) return write_error(errno);
  CTPROF_TRY(open_directory(real));
  const bool is_found =
      ::fstatat(directory(), name_.c_str(), &named_status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_found || !is_same_file(named_status, target_status))
    return error(
        "writing", path_,
        "the target of this link was deleted or renamed and cannot be replaced; name another file");
  return check_replaceable();
}

// The owner of a pipe or terminal could read everything that is written to it, even if another user
// owns the directory. The kernel checks pipes (fs.protected_fifos) only on an open with O_CREAT.
Result<void> Destination::use_stream(sdk::Fd stream, bool is_inherited) {
  kind_ = Kind::Stream;
  struct stat status {};
  if (::fstat(stream.get(), &status) != 0) return write_error(errno);
  if (!is_inherited && !is_trusted(status) && !discards_data(status) && !is_own_terminal(status))
    return foreign_error(path_, S_ISFIFO(status.st_mode) ? "a pipe" : "a device", status,
                         "choose another name, or redirect standard output to it");
  if (::faccessat(directory(), name_.c_str(), W_OK, AT_EACCESS) != 0) return write_error(errno);
  stream_ = std::move(stream);
  return {};
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
