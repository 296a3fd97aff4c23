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
constexpr std::uint64_t kMostIndex = 256 * limits::kMiB;
// Maximum number of files in a directory: hourly files of a century.
constexpr std::size_t kMostFiles = 1'000'000;

constexpr int kOpenFile = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_own_name(std::string_view name) {
  return name == "." || name == ".." || name == "lost+found" || name == kIndexName ||
         name.starts_with(".ctprof-") || hour_file_of(name).has_value();
}

}  // namespace

Result<Directory> Directory::open(const std::string& path) {
  sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error("looking into the directory", path, errno);
  return Directory(path, std::move(fd));
}

Result<std::vector<std::string>> Directory::names() const {
  const int again = ::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> entries(again < 0 ? nullptr : ::fdopendir(again));
  if (!entries) return errno_error("looking into the directory", path_, errno);
  std::vector<std::string> names;
  for (errno = 0;;) {
    const dirent* entry = ::readdir(entries.get());
    if (!entry && errno != 0) return errno_error("looking into the directory", path_, errno);
    if (!entry) return names;
    names.emplace_back(entry->d_name);
    if (names.size() > kMostFiles)
      return error("looking into the directory", path_, "it has more than a million files");
  }
}

Result<std::string> Directory::bytes_of(const std::string& name, std::uint64_t at,
                                        std::uint64_t most) const {
  const std::string path = path_ + (path_.ends_with('/') ? "" : "/") + name;
  const sdk::Fd file(::openat(fd(), name.c_str(), kOpenFile));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return errno_error("reading", path, errno);
  if (!S_ISREG(status.st_mode)) return error("reading", path, "it is no file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::string bytes(std::min(most, size - std::min(at, size)), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t more =
        ::pread(file.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(at + got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return errno_error("reading", path, errno);
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return {boost::system::in_place_value, std::move(bytes)};
}

// Finds the windows in a file after those that are known from the index.
void Directory::look_into(KeptFile& file) const {
  if (file.whole >= file.size) return;
  if (file.size - file.whole > limits::kFileBytes) {
    file.unread = "it is larger than " + std::to_string(limits::kFileBytes) + " bytes";
    return;
  }
  const auto bytes = bytes_of(name_of(file.name), file.whole, limits::kFileBytes);
  if (!bytes) {
    file.unread = bytes.error().text;
    return;
  }
  const columns::Blocks blocks = columns::list_blocks(*bytes);
  const std::uint64_t begin = file.whole;
  for (const columns::BlockPlace& block : blocks.whole) {
    if (!block.is_window) {
      file.unread = "it holds a snapshot among windows";
      return;
    }
    file.windows.push_back(
        {begin + block.at, block.bytes, block.boot_id, block.opened, block.ended});
    file.whole = begin + block.at + block.bytes;
  }
  file.size = begin + bytes->size();
  file.torn = blocks.torn;
  file.unread = blocks.unread;
}

bool Directory::counts(const std::string& name, Of of, struct stat& status) const {
  const bool is_file =
      ::fstatat(fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
  return is_file && (of == Of::Anybody || is_own_file(status));
}

Result<std::vector<KeptFile>> Directory::files(Of of) const {
  auto found = names();
  if (!found) return found.error();
  std::map<HourFile, KeptFile> files;
  for (const std::string& name : *found) {
    const auto hour = hour_file_of(name);
    struct stat status {};
    if (!hour || !counts(name, of, status)) continue;
    KeptFile file;
    file.name = *hour;
    file.size = static_cast<std::uint64_t>(status.st_size);
    files.emplace(*hour, std::move(file));
  }
  // The index is used for each file as far as its windows are contiguous from the first byte on.
  struct stat status {};
  if (const auto text = bytes_of(kIndexName, 0, kMostIndex);
      text && counts(std::string(kIndexName), of, status))
    for (IndexEntry& entry : read_index(*text)) {
      const auto file = files.find(entry.file);
      if (file == files.end() || entry.window.at != file->second.whole ||
          entry.window.bytes > file->second.size - file->second.whole)
        continue;
      file->second.whole += entry.window.bytes;
      file->second.windows.push_back(std::move(entry.window));
    }
  std::vector<KeptFile> sorted;
  for (auto& [name, file] : files) {
    look_into(file);
    sorted.push_back(std::move(file));
  }
  return sorted;
}

Result<bool> Directory::has_files() const {
  const auto found = names();
  if (!found) return found.error();
  return std::ranges::any_of(
      *found, [](const std::string& name) { return hour_file_of(name).has_value(); });
}

Result<std::string> Directory::stranger() const {
  const auto found = names();
  if (!found) return found.error();
  const auto strange =
      std::ranges::find_if(*found, [](const std::string& name) { return !is_own_name(name); });
  if (strange == found->end()) return {boost::system::in_place_value, std::string()};
  return {boost::system::in_place_value, *strange};
}

Result<std::string> Directory::read(const HourFile& file, const KeptWindow& window) const {
  if (window.bytes > limits::kFileBytes)
    return error("reading", name_of(file), "a window is larger than a file may be");
  return bytes_of(name_of(file), window.at, window.bytes);
}

bool is_archive(const std::string& path) {
  const auto directory = Directory::open(path);
  if (!directory) return false;
  const auto has = directory->has_files();
  return has && *has;
}

}  // namespace ctprof
