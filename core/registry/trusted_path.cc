#include "core/registry/trusted_path.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <array>
#include <string_view>

namespace ctprof {
namespace {

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%o", mode & 07777u);
  return text.data();
}

// Why somebody other than root could change what is open, as a sentence about `who`, or "". Writers
// by an access control list show up in the group bits.
std::string objection(int fd, const std::string& who) {
  struct stat status {};
  struct statvfs mount {};
  if (::fstat(fd, &status) != 0 || ::fstatvfs(fd, &mount) != 0)
    return who + " cannot be looked at: " + std::strerror(errno);
  if (S_ISLNK(status.st_mode)) return who + " is a symbolic link";
  if (status.st_uid != 0) return who + " belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return who + " is writable by others (mode " + octal(status.st_mode) + ")";
  if ((mount.f_flag & ST_NOSUID) != 0) return who + " is on a filesystem that is mounted nosuid";
  return {};
}

bool is_link(int directory, const std::string& name) {
  struct stat status {};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

// Opens one component of a path, which must be no link and changeable by root alone.
Result<sdk::Fd> open_step(int directory, const std::string& name, const std::string& who,
                          int flags) {
  sdk::Fd fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    const std::string words = std::strerror(errno);
    return Error{
        who + (is_link(directory, name) ? " is a symbolic link" : " cannot be opened: " + words)};
  }
  if (std::string why = objection(fd.get(), who); !why.empty()) return Error{std::move(why)};
  return fd;
}

}  // namespace

Result<sdk::Fd> open_trusted_directory(const std::string& path) {
  if (!path.starts_with('/')) return Error{"'" + path + "' is no absolute path"};
  std::string walked;
  auto fd = open_step(AT_FDCWD, "/", "'/'", O_PATH | O_DIRECTORY);
  for (std::string_view rest = path; fd && !rest.empty();) {
    const std::string name(sdk::take(rest, '/'));
    if (name.empty() || name == ".") continue;
    if (name == "..") return Error{"'" + path + "' has a part '..'"};
    walked += "/" + name;
    fd = open_step(fd->get(), name, "'" + walked + "'", O_PATH | O_DIRECTORY);
  }
  return fd ? open_step(fd->get(), ".", "'" + path + "'", O_RDONLY | O_DIRECTORY) : std::move(fd);
}

Result<sdk::Fd> open_trusted_file(int directory, const std::string& name) {
  const auto found = open_step(directory, name, "it", O_PATH);
  if (!found) return found.error();
  struct stat status {};
  if (::fstat(found->get(), &status) != 0 || !S_ISREG(status.st_mode))
    return Error{"it is not a regular file"};
  return open_step(directory, name, "it", O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

}  // namespace ctprof
