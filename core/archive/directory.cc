#include "core/archive/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "core/base/own_files.hpp"
#include "core/file/columns/read_columns.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof {
namespace {

// Maximum size of an index that is read. Windows of one second for a week need about 90 MB.
constexpr std::uint64_t kMaxIndexBytes = 256 * limits::kMiB;
// Maximum number of files in a directory: hourly files of a century.
constexpr std::size_t kMaxFiles = 1'000'000;

constexpr int kOpenFile = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_known_name(std::string_view name) {
  return name == "." || name == ".." || name == "lost+found" || name == kIndexName ||
         name.starts_with(".ctprof-") || parse_hour_file(name).has_value();
}

}  // namespace

Result<Directory> Directory::open(const std::string& path) {
  sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error("reading the directory", path, errno);
  return Directory(path, std::move(fd));
}

Result<std::vector<std::string>> Directory::names() const {
  const int descriptor = ::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> entries(descriptor < 0 ? nullptr
                                                                    : ::fdopendir(descriptor));
  if (!entries) return errno_error("reading the directory", path_, errno);
  std::vector<std::string> names;
  for (errno = 0;;) {
    const dirent* entry = ::readdir(entries.get());
    if (!entry && errno != 0) return errno_error("reading the directory", path_, errno);
    if (!entry) return names;
    names.emplace_back(entry->d_name);
    if (names.size() > kMaxFiles)
      return error("reading the directory", path_, "it has more than a million files");
  }
}

Result<std::string> Directory::read_bytes(const std::string& name, std::uint64_t offset,
                                          std::uint64_t max_bytes) const {
  const std::string path = path_ + (path_.ends_with('/') ? "" : "/") + name;
  const sdk::Fd file(::openat(fd(), name.c_str(), kOpenFile));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return errno_error("reading", path, errno);
  if (!S_ISREG(status.st_mode)) return error("reading", path, "it is not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::string bytes(std::min(max_bytes, size - std::min(offset, size)), '\0');
  std::size_t size_read = 0;
  while (size_read < bytes.size()) {
    const ssize_t count = ::pread(file.get(), bytes.data() + size_read, bytes.size() - size_read,
                                  static_cast<off_t>(offset + size_read));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error("reading", path, errno);
    if (count == 0) break;
    size_read += static_cast<std::size_t>(count);
  }
  bytes.resize(size_read);
  return {boost::system::in_place_value, std::move(bytes)};
}

// Finds the windows in a file after those that are known from the index.
void Directory::find_windows(ArchiveFile& file) const {
  if (file.complete_bytes >= file.size) return;
  if (file.size - file.complete_bytes > limits::kFileBytes) {
    file.invalid_reason = "it is larger than " + std::to_string(limits::kFileBytes) + " bytes";
    return;
  }
  const auto bytes = read_bytes(file_name_of(file.name), file.complete_bytes, limits::kFileBytes);
  if (!bytes) {
    file.invalid_reason = bytes.error().text;
    return;
  }
  const columns::BlockList blocks = columns::list_blocks(*bytes);
  const std::uint64_t begin = file.complete_bytes;
  for (const columns::BlockLocation& block : blocks.blocks) {
    if (!block.is_window) {
      file.invalid_reason = "it holds a snapshot among windows";
      return;
    }
    file.windows.push_back(
        {begin + block.offset, block.bytes, block.boot_id, block.opened_at, block.ended_at});
    file.complete_bytes = begin + block.offset + block.bytes;
  }
  file.size = begin + bytes->size();
  file.is_truncated = blocks.is_truncated;
  file.invalid_reason = blocks.invalid_reason;
}

bool Directory::is_used(const std::string& name, Owner owner, struct stat& status) const {
  const bool is_file =
      ::fstatat(fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
  return is_file && (owner == Owner::AnyUser || is_own_file(status));
}

Result<std::vector<ArchiveFile>> Directory::files(Owner owner) const {
  CTPROF_TRY_VALUE(auto found, names());
  std::map<HourFile, ArchiveFile> files;
  for (const std::string& name : found) {
    const auto hour = parse_hour_file(name);
    struct stat status {};
    if (!hour || !is_used(name, owner, status)) continue;
    ArchiveFile file;
    file.name = *hour;
    file.size = static_cast<std::uint64_t>(status.st_size);
    files.emplace(*hour, std::move(file));
  }
  // For each file, uses the entries of the index up to the first window that does not directly
  // follow the previous one.
  struct stat status {};
  if (const auto text = read_bytes(kIndexName, 0, kMaxIndexBytes);
      text && is_used(std::string(kIndexName), owner, status))
    for (IndexEntry& entry : read_index(*text)) {
      const auto file = files.find(entry.file);
      if (file == files.end() || entry.window.offset != file->second.complete_bytes ||
          entry.window.bytes > file->second.size - file->second.complete_bytes)
        continue;
      file->second.complete_bytes += entry.window.bytes;
      file->second.windows.push_back(std::move(entry.window));
    }
  std::vector<ArchiveFile> sorted;
  for (auto& [name, file] : files) {
    find_windows(file);
    sorted.push_back(std::move(file));
  }
  return sorted;
}

Result<bool> Directory::has_files() const {
  CTPROF_TRY_VALUE(const auto found, names());
  return std::ranges::any_of(
      found, [](const std::string& name) { return parse_hour_file(name).has_value(); });
}

Result<std::string> Directory::foreign_name() const {
  CTPROF_TRY_VALUE(const auto found, names());
  const auto foreign =
      std::ranges::find_if(found, [](const std::string& name) { return !is_known_name(name); });
  if (foreign == found.end()) return {boost::system::in_place_value, std::string()};
  return {boost::system::in_place_value, *foreign};
}

Result<std::string> Directory::read(const HourFile& file, const ArchivedWindow& window) const {
  if (window.bytes > limits::kFileBytes)
    return error("reading", file_name_of(file), "a window is larger than a file may be");
  return read_bytes(file_name_of(file), window.offset, window.bytes);
}

bool is_archive(const std::string& path) {
  const auto directory = Directory::open(path);
  if (!directory) return false;
  const auto has_files = directory->has_files();
  return has_files && *has_files;
}

}  // namespace ctprof
