#include "core/capture/target_files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace ctprof {
namespace {

// Each costs a thread and the time that it was waited for.
constexpr std::size_t kMostHeldUp = 5;
// Of one file that is copied: programs with a whole browser in them have 200.
constexpr off_t kMostCopied = 256 << 20;
constexpr std::size_t kMostFileText = 64 << 20;
constexpr const char* kDeleted = " (deleted)";

std::uint64_t root_device() {
  struct stat status {};
  return ::stat("/", &status) == 0 ? status.st_dev : 0;
}

// Whether a disk or memory of the host has the file, or what we run on ourselves: then reading it
// ends.
bool is_local(int fd, dev_t device) {
  static const std::uint64_t root = root_device();
  if (major(device) != 0 || device == root) return true;
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == BTRFS_SUPER_MAGIC;
}

sdk::Fd copy_of(int fd, off_t size) {
  sdk::Fd copy(::memfd_create("mapped", MFD_CLOEXEC));
  if (!copy || size > kMostCopied) return sdk::Fd();
  for (off_t at = 0; at < size;)
    if (::sendfile(copy.get(), fd, &at, static_cast<std::size_t>(size - at)) <= 0) return sdk::Fd();
  return copy;
}

// From a descriptor that only names a file to one that reads it, if it is a regular one, and that
// one where `file` says which. File systems without a device of their own show one device to stat
// and another in maps.
sdk::Fd readable(const sdk::Fd& named, const std::optional<FileId>& file) {
  struct stat status {};
  if (!named || ::fstat(named.get(), &status) != 0 || !S_ISREG(status.st_mode)) return sdk::Fd();
  const bool is_it = !file || (file->inode == status.st_ino &&
                               (file->device == status.st_dev || major(file->device) == 0));
  if (!is_it) return sdk::Fd();
  const std::string self = "/proc/self/fd/" + std::to_string(named.get());
  sdk::Fd fd(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd || is_local(fd.get(), status.st_dev)) return fd;
  return copy_of(fd.get(), status.st_size);
}

sdk::Fd named(int directory, const std::string& path) {
  return sdk::Fd(::openat(directory, path.c_str(), O_PATH | O_CLOEXEC));
}

// Under a directory, as the kernel tells it: without symbolic links.
sdk::Fd named_under(const sdk::Fd& root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
  if (!root) return sdk::Fd();
  return sdk::Fd(
      static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
}

sdk::Fd root_of(int proc, const std::string& process) {
  return sdk::Fd(::openat(proc, (process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string name_in_map_files(const CodeRange& range) {
  char name[64];
  std::snprintf(name, sizeof name, "%llx-%llx", static_cast<unsigned long long>(range.start),
                static_cast<unsigned long long>(range.end));
  return name;
}

sdk::Fd open_mapped(int proc, int root, const std::string& process, const CodeRange& range,
                    std::string path, FileId file) {
  if (path.ends_with(kDeleted)) path.resize(path.size() - std::string_view(kDeleted).size());
  for (const std::string& link :
       {process + "/map_files/" + name_in_map_files(range), process + "/exe"})
    if (auto fd = readable(named(proc, link), file)) return fd;
  if (auto fd = readable(named_under(root_of(proc, process), path), file)) return fd;
  const sdk::Fd own(::fcntl(root, F_DUPFD_CLOEXEC, 0));
  return readable(named_under(own, path), file);
}

// The process's own number, in the innermost of its namespaces.
std::string own_number(int proc, const std::string& process) {
  sdk::TextFile file;
  const auto status = file.read(proc, (process + "/status").c_str());
  const auto numbers = status ? sdk::value_of(status.value, "NSpid") : status;
  if (!numbers) return process;
  const std::string_view text = sdk::trimmed(numbers.value);
  return std::string(text.substr(text.find_last_of("\t ") + 1));
}

std::string text_of(int fd, std::size_t most) {
  std::string text;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(std::min(most, size + (256 << 10)));
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) return text;
  }
}

}  // namespace

struct TargetFiles::Directories {
  sdk::Fd proc, root;
};

TargetFiles::TargetFiles(int proc, std::chrono::milliseconds patience)
    : at_(std::make_shared<Directories>(
          Directories{sdk::Fd(::fcntl(proc, F_DUPFD_CLOEXEC, 0)),
                      sdk::Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC))})),
      patience_(patience) {}

// What the thread still opens after that is closed with its promise.
sdk::Fd TargetFiles::in_time(std::function<sdk::Fd(const Directories&)> open) {
  if (held_up_ == kMostHeldUp) return sdk::Fd();
  std::packaged_task<sdk::Fd()> task([at = at_, open = std::move(open)] { return open(*at); });
  auto opened = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error&) {
    return sdk::Fd();  // RLIMIT_NPROC has no more to give
  }
  if (opened.wait_for(patience_) == std::future_status::ready) return opened.get();
  ++held_up_;
  return sdk::Fd();
}

sdk::Fd TargetFiles::open(std::uint64_t process, const CodeRange& range, const std::string& path,
                          FileId file) {
  return in_time([=](const Directories& at) {
    return open_mapped(at.proc.get(), at.root.get(), std::to_string(process), range, path, file);
  });
}

std::string TargetFiles::perf_map(std::uint64_t process) {
  const auto fd = in_time([number = std::to_string(process)](const Directories& at) {
    const std::string path = "/tmp/perf-" + own_number(at.proc.get(), number) + ".map";
    return readable(named_under(root_of(at.proc.get(), number), path), std::nullopt);
  });
  // A copy stands where writing it ended.
  if (fd) ::lseek(fd.get(), 0, SEEK_SET);
  return fd ? text_of(fd.get(), kMostFileText) : "";
}

std::string TargetFiles::kernel_symbols() {
  const sdk::Fd fd(::openat(at_->proc.get(), "kallsyms", O_RDONLY | O_CLOEXEC));
  return fd ? text_of(fd.get(), kMostFileText) : "";
}

}  // namespace ctprof
