#include "core/registry/plugin_directory.hpp"

#include <dirent.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>

#include "core/registry/shared_object.hpp"

namespace ctprof {
namespace {

std::string format_octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%o", mode & 07777u);
  return text.data();
}

// Returns why a user other than root could change the open file, as a sentence about `subject`, or
// "". Writers from an access control list appear in the group bits.
std::string find_trust_violation(int fd, const std::string& subject) {
  struct stat status {};
  struct statvfs mount {};
  if (::fstat(fd, &status) != 0 || ::fstatvfs(fd, &mount) != 0)
    return subject + " cannot be examined: " + std::strerror(errno);
  if (S_ISLNK(status.st_mode)) return subject + " is a symbolic link";
  if (status.st_uid != 0) return subject + " belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return subject + " is writable by others (mode " + format_octal(status.st_mode) + ")";
  if ((mount.f_flag & ST_NOSUID) != 0)
    return subject + " is on a filesystem that is mounted nosuid";
  return {};
}

bool is_link(int directory, const std::string& name) {
  struct stat status {};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

// Opens one component of a path, which must not be a link and which only root may be able to
// change.
Result<sdk::Fd> open_component(int directory, const std::string& name, const std::string& subject,
                               int flags) {
  sdk::Fd fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    const std::string message = std::strerror(errno);
    return Error{subject + (is_link(directory, name) ? " is a symbolic link"
                                                     : " cannot be opened: " + message)};
  }
  if (std::string violation = find_trust_violation(fd.get(), subject); !violation.empty())
    return Error{std::move(violation)};
  return fd;
}

}  // namespace

Result<sdk::Fd> open_trusted_directory(const std::string& path) {
  if (!path.starts_with('/')) return Error{"'" + path + "' is not an absolute path"};
  std::string walked_path;
  auto fd = open_component(AT_FDCWD, "/", "'/'", O_PATH | O_DIRECTORY);
  for (std::string_view rest = path; fd && !rest.empty();) {
    const std::string name(sdk::take(rest, '/'));
    if (name.empty() || name == ".") continue;
    if (name == "..") return Error{"'" + path + "' has a part '..'"};
    walked_path += "/" + name;
    fd = open_component(fd->get(), name, "'" + walked_path + "'", O_PATH | O_DIRECTORY);
  }
  return fd ? open_component(fd->get(), ".", "'" + path + "'", O_RDONLY | O_DIRECTORY)
            : std::move(fd);
}

Result<sdk::Fd> open_trusted_file(int directory, const std::string& name) {
  CTPROF_TRY_VALUE(const auto path_fd, open_component(directory, name, "it", O_PATH));
  struct stat status {};
  if (::fstat(path_fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return Error{"it is not a regular file"};
  return open_component(directory, name, "it", O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

namespace {

constexpr std::string_view kSuffix = ".so";

Result<sdk::Fd> open_directory(const std::string& path) {
  sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Error{"'" + path + "': " + std::strerror(errno)};
  return fd;
}

Error open_error(int error_number) {
  return {std::string("it cannot be opened: ") + std::strerror(error_number)};
}

// Returns the names of plugin files, sorted.
Result<std::vector<std::string>> list_plugin_files(int directory, const std::string& path) {
  sdk::Fd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fd ? ::fdopendir(fd.get()) : nullptr,
                                                    &::closedir);
  if (!entries) return Error{"'" + path + "': " + std::strerror(errno)};
  fd.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Refuses a FIFO without opening it; O_NONBLOCK covers one that replaces the file in between.
Result<sdk::Fd> open_regular(int directory, const std::string& name) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, 0) != 0) return open_error(errno);
  if (!S_ISREG(status.st_mode)) return Error{"it is not a regular file"};
  sdk::Fd fd(::openat(directory, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return open_error(errno);
  return fd;
}

// The dynamic loader searches these directories before the system's, and resolves a relative one
// against the working directory.
Result<void> check_directory(const std::string& directory) {
  if (directory.find('$') != directory.npos)
    return Error{"its library search path contains '" + directory +
                 "', which depends on the location of the plugin"};
  const auto trusted = open_trusted_directory(directory);
  return trusted ? Result<void>()
                 : Error{"its library search path contains '" + directory + "', and " +
                         trusted.error().text};
}

Result<void> check_libraries(const PluginFile& file) {
  for (const std::string& directory : file.library_directories)
    CTPROF_TRY(check_directory(directory));
  for (const std::string& library : file.libraries)
    if (library.find('/') != library.npos)
      return Error{"it needs the library '" + library + "' by a path instead of a name"};
  return {};
}

}  // namespace

Result<PluginDirectory> PluginDirectory::open(const std::string& path, Trust trust) {
  CTPROF_TRY_VALUE(auto fd,
                   trust == Trust::RootOnly ? open_trusted_directory(path) : open_directory(path));
  CTPROF_TRY_VALUE(auto names, list_plugin_files(fd.get(), path));
  return PluginDirectory(path, trust, std::move(fd), std::move(names));
}

Result<sdk::Fd> PluginDirectory::open_plugin_descriptor(const std::string& name) const {
  return trust_ == Trust::RootOnly ? open_trusted_file(fd_.get(), name)
                                   : open_regular(fd_.get(), name);
}

// Adds the rule for privileged programs to the reason of a refusal.
Error PluginDirectory::make_refusal(const Error& cause) const {
  if (trust_ == Trust::AnyUser) return cause;
  return {cause.text +
          "; a ctprof with file capabilities loads only plugins that only root can change"};
}

Result<OpenPlugin> PluginDirectory::open_file(const std::string& name) const {
  auto fd = open_plugin_descriptor(name);
  if (!fd) return make_refusal(fd.error());
  CTPROF_TRY_VALUE(auto file, read_plugin_file(fd->get()));
  if (trust_ == Trust::RootOnly)
    if (auto fits = check_libraries(file); !fits) return make_refusal(fits.error());
  return OpenPlugin{path_of(name), std::move(*fd), std::move(file)};
}

Result<void> check_trusted_libraries(const PluginFile& file) { return check_libraries(file); }

Result<void> PluginDirectory::check_trust(const std::string& name) const {
  CTPROF_TRY_VALUE(const auto fd, open_plugin_descriptor(name));
  const auto file = read_plugin_file(fd.get());
  return file ? check_libraries(*file) : Result<void>();
}

namespace fs = std::filesystem;

// Returns the name that was passed to execve, for systems without /proc. The user chooses that
// name, so it is ignored if the program has more privileges than its user.
static fs::path read_executed_path() {
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (!name || ::getauxval(AT_SECURE) != 0) return {};
  std::error_code error;
  return fs::canonical(name, error);
}

std::string program_directory() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return (error ? read_executed_path() : program).parent_path().string();
}

std::string own_plugin_directory() {
  const fs::path program_directory_path = program_directory();
  if (program_directory_path.empty()) return {};
  const fs::path build_tree = program_directory_path.parent_path().parent_path();
  if (::access((build_tree / "build.ninja").c_str(), F_OK) == 0)
    return (build_tree / "plugins").string();
  fs::path prefix = program_directory_path;
  for (const fs::path& part : fs::path(CTPROF_BIN_DIR))
    if (part != ".") prefix = prefix.parent_path();
  return (prefix / CTPROF_PLUGIN_DIR).string();
}

}  // namespace ctprof
