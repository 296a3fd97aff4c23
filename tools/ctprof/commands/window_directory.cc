#include "tools/ctprof/commands/window_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/own_files.hpp"
#include "core/file/file.hpp"
#include "core/file/write/destination.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

// Whatever the umask permits, the group and others may not write.
constexpr mode_t kDirectoryMode = 0755;

// Returns whether the directory has no entries; nullopt, with errno set, if it cannot be read.
std::optional<bool> is_empty(int directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      ::fdopendir(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), &::closedir);
  if (!entries) return std::nullopt;
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get()))
    if (std::string_view(entry->d_name) != "." && std::string_view(entry->d_name) != "..")
      return false;
  return errno == 0 ? std::optional(true) : std::nullopt;
}

Result<sdk::Fd> open_empty_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST)
    return errno_error("making the directory", path, errno);
  sdk::Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno_error("looking into the directory", path, errno);
  if (const std::string why = directory_ownership_problem(path, directory.get()); !why.empty())
    return error("recording into the directory", path, why);
  const auto empty = is_empty(directory.get());
  if (!empty) return errno_error("looking into the directory", path, errno);
  if (!*empty)
    return error("recording into the directory", path,
                 "it is not empty; name a new or empty directory");
  return directory;
}

}  // namespace

Result<WindowDirectory> WindowDirectory::make(const std::string& path) {
  if (is_standard_output(path)) return Error{"--repeat requires -o DIR: it writes several files"};
  sdk::Fd directory;
  const auto opened = without_privileges([&]() -> Result<void> {
    auto result = open_empty_directory(path);
    if (!result) return result.error();
    directory = std::move(*result);
    return {};
  });
  if (!opened) return opened.error();
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  return WindowDirectory(std::move(trimmed), std::move(directory));
}

Result<Target> WindowDirectory::open_target(const RecordCommandOptions& options,
                                            std::uint64_t number) const {
  const std::size_t width = std::max<std::size_t>(2, std::to_string(options.repeat).size());
  const std::string digits = std::to_string(number);
  const std::string name =
      std::string(width - digits.size(), '0') + digits + std::string(kFileSuffix);
  const std::string path = path_ + "/" + name;
  std::optional<Destination> destination;
  const auto found = without_privileges([&]() -> Result<void> {
    auto checked = check_output_in(directory_.get(), name, path);
    if (!checked) return checked.error();
    destination = std::move(*checked);
    return {};
  });
  if (!found) return found.error();
  Target target{std::move(*destination), false, path};
  if (auto replaceable = check_target_replaceable(target, options); !replaceable)
    return replaceable.error();
  return target;
}

}  // namespace ctprof::cli
