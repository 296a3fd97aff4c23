#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <random>
#include <utility>

#include "core/file/sink.hpp"

namespace ctprof {
namespace {

constexpr int kAttempts = 16;  // at a temporary name that nobody has

bool exists(const std::string& path, struct stat& found) { return ::stat(path.c_str(), &found) == 0; }

// The file that a symbolic link leads to, so that the link stays one.
std::string behind_links(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISLNK(found.st_mode)) return path;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : path;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

// Returns what fsync did, and adds to `ns` how long it took.
int timed_sync(int fd, std::uint64_t& ns) {
  const auto start = std::chrono::steady_clock::now();
  const int status = ::fsync(fd);
  ns += static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
  return status;
}

// Makes the name itself durable. A file system that cannot is no reason to fail: the contents are.
void sync_directory(const std::string& path, std::uint64_t& ns) {
  const int fd = ::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  timed_sync(fd, ns);
  ::close(fd);
}

}  // namespace

Result<OutFile> OutFile::create(const std::string& path) {
  if (path == "-") return OutFile(path, "", ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  struct stat found {};
  if (exists(path, found) && !S_ISREG(found.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno_error("writing", path, errno);
    return OutFile(path, "", fd);
  }
  const std::string target = behind_links(path);
  std::random_device random;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string temporary = target + ".tmp-" + std::to_string(random());
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return OutFile(target, std::move(temporary), fd);
    if (errno != EEXIST) break;
  }
  return errno_error("writing", path, errno);
}

// A pipe or device is only asked: opening it could wait for a reader, or be taken for all that there is to read.
Result<void> OutFile::check(const std::string& path) {
  struct stat found {};
  if (path == "-") return {};
  if (exists(path, found) && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) {
    if (::access(path.c_str(), W_OK) != 0) return errno_error("writing", path, errno);
    return {};
  }
  const auto file = create(path);
  if (!file) return file.error();
  return {};
}

OutFile::OutFile(OutFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(other.bytes_),
      sync_ns_(other.sync_ns_) {}

OutFile::~OutFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> OutFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    bytes_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<void> OutFile::commit(bool sync) {
  if (sync && !temporary_.empty() && timed_sync(fd_, sync_ns_) != 0) return failed(errno);
  if (::close(std::exchange(fd_, -1)) != 0) return failed(errno);
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failed(errno);
  temporary_.clear();
  if (sync) sync_directory(path_, sync_ns_);
  return {};
}

}  // namespace ctprof
