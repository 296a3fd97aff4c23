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
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/living_thread.hpp"
#include "core/capture/target_owner.hpp"

namespace ctprof {

struct TargetFiles::Directories {
  sdk::Fd proc, root;
  bool is_lent;
};

namespace {

using Directories = TargetFiles::Directories;

// The file that is to be opened, and which of its contents.
struct Wanted {
  FileId file;
  MappedContent content;
};

// Each costs a thread and the time that it was waited for.
constexpr std::size_t kMostHeldUp = 5;
constexpr std::size_t kMostLeftOut = 100;
// A server may be slow: whether anybody still waits is asked so often.
constexpr std::size_t kCopiedAtOnce = 1 << 20;
// Two readings of one start time: the clocks that it is derived from drift apart.
constexpr std::uint64_t kStartSlackNs = 1'000'000'000;
// Times of files and of starts are those of a clock tick.
constexpr std::uint64_t kClockSlackNs = 50'000'000;

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

// What one attempt to open a file may copy, and whether anybody waits for it.
struct Copying {
  explicit Copying(std::shared_ptr<std::atomic<std::uint64_t>> bytes_left)
      : left(std::move(bytes_left)) {}

  std::shared_ptr<std::atomic<std::uint64_t>> left;  // bytes, of all attempts
  std::atomic<bool> is_left_behind{false};
  std::atomic<bool> is_too_large{false};
  std::atomic<bool> is_changed{false};  // the file is the one, and has another content

  // Takes it from what is left; false: there is not as much.
  bool take(std::uint64_t size) {
    std::uint64_t before = left->load();
    while (size <= before)
      if (left->compare_exchange_weak(before, before - size)) return true;
    is_too_large = true;
    return false;
  }
};

// Each attempt has a thread of its own, and this is the attempt's.
thread_local Copying* t_copying = nullptr;

sdk::Fd copy_of(int fd, off_t size) {
  const auto bytes = static_cast<std::uint64_t>(std::max<off_t>(size, 0));
  if (!t_copying || !t_copying->take(bytes)) return sdk::Fd();
  sdk::Fd copy(::memfd_create("mapped", MFD_CLOEXEC));
  bool is_whole = static_cast<bool>(copy);
  for (off_t at = 0; is_whole && at < size;) {
    const std::size_t next = std::min(kCopiedAtOnce, static_cast<std::size_t>(size - at));
    is_whole = !t_copying->is_left_behind && ::sendfile(copy.get(), fd, &at, next) > 0;
  }
  if (is_whole) return copy;
  *t_copying->left += bytes;
  return sdk::Fd();
}

// How a file was reached: through a descriptor or a link of the kernel's to the mapping, which is
// of no other file; or along a path.
enum class Reached : std::uint8_t { ByMapping, ByPath };

// Whether the content of an open file is the one that is wanted. An inode that was created, and a
// path that was changed, after the mapping may be of another file. A link of the kernel's to the
// file is not affected if only the file's name or permissions changed.
bool has_content(int named, const MappedContent& wanted, Reached reached) {
  if (!wanted.stamp && wanted.mapped_unix_ns == 0) return true;
  const auto stamp = stamp_of(named);
  if (!stamp) return false;
  if (wanted.stamp) return stamp->has_same_content(*wanted.stamp);
  const bool is_dated = reached == Reached::ByMapping && stamp->created_ns != 0;
  const std::uint64_t last =
      is_dated ? std::max(stamp->created_ns, stamp->written_ns) : stamp->changed_ns;
  return last <= wanted.mapped_unix_ns;
}

// The file as the kernel lists it in maps, which on some file systems (btrfs, overlayfs) has
// another device than stat(2) tells. Our own mapping of it shows that.
std::optional<FileId> id_in_maps(int fd) {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) return std::nullopt;
  const auto start = reinterpret_cast<std::uintptr_t>(at);
  sdk::TextFile file;
  const auto maps = file.read_records(AT_FDCWD, "/proc/self/maps");
  const auto mapping = maps ? mapping_at(maps.value, start) : std::nullopt;
  ::munmap(at, size);
  return mapping ? std::optional(mapping->file) : std::nullopt;
}

bool is_listed_as(int fd, const FileId& file) {
  const auto listed = id_in_maps(fd);
  return listed && listed->device == file.device && listed->inode == file.inode;
}

// Whether it is that file; unknown where maps may list another device than stat(2) tells.
std::optional<bool> is_file(const struct stat& status, const FileId& file) {
  if (file.device == status.st_dev && file.inode == status.st_ino) return true;
  if (major(file.device) == 0 || major(status.st_dev) == 0) return std::nullopt;
  return false;
}

// From a descriptor that only names a regular file to one that reads it, with the rights of the
// thread.
sdk::Fd opened(const sdk::Fd& named) {
  const std::string self = "/proc/self/fd/" + std::to_string(named.get());
  return sdk::Fd(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

// The file, or a copy of it.
sdk::Fd kept(sdk::Fd fd, const struct stat& status) {
  if (!fd || is_local(fd.get(), status.st_dev)) return fd;
  return copy_of(fd.get(), status.st_size);
}

bool is_regular(const sdk::Fd& named, struct stat& status) {
  return named && ::fstat(named.get(), &status) == 0 && S_ISREG(status.st_mode);
}

// To be read, if it is that file and a regular one.
sdk::Fd readable(const sdk::Fd& named, const Wanted& wanted, Reached reached) {
  struct stat status {};
  if (!is_regular(named, status)) return sdk::Fd();
  const auto is_it = is_file(status, wanted.file);
  if (is_it == false) return sdk::Fd();
  sdk::Fd fd = opened(named);
  if (!fd || (!is_it && !is_listed_as(fd.get(), wanted.file))) return sdk::Fd();
  if (has_content(named.get(), wanted.content, reached)) return kept(std::move(fd), status);
  if (t_copying) t_copying->is_changed = true;
  return sdk::Fd();
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

// The directory of a process. What is opened below it later is of that process, or fails.
sdk::Fd directory_of(int proc, std::uint64_t process) {
  return sdk::Fd(::openat(proc, std::to_string(process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

sdk::Fd root_of(int process) {
  return sdk::Fd(::openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string name_in_map_files(const CodeRange& range) {
  char name[64];
  std::snprintf(name, sizeof name, "%llx-%llx", static_cast<unsigned long long>(range.start),
                static_cast<unsigned long long>(range.end));
  return name;
}

// What is mapped, and may be read with the present rights.
sdk::Fd first_readable(std::span<const sdk::Fd> links, const Wanted& wanted) {
  for (const sdk::Fd& link : links)
    if (auto fd = readable(link, wanted, Reached::ByMapping)) return fd;
  return sdk::Fd();
}

// Of a file that is pinned, only that descriptor: all others lead to the same file.
std::vector<sdk::Fd> links_to(int target, const CodeRange& range, const MappedContent& content) {
  std::vector<sdk::Fd> links;
  if (content.named) {
    links.emplace_back(::fcntl(content.named->get(), F_DUPFD_CLOEXEC, 0));
    return links;
  }
  links.push_back(named(target, "map_files/" + name_in_map_files(range)));
  links.push_back(named(target, "exe"));
  return links;
}

// Its thread has fewer rights afterwards.
sdk::Fd open_mapped(const Directories& at, std::uint64_t process, const CodeRange& range,
                    std::string path, const Wanted& wanted, std::optional<TargetOwner> owner) {
  path.resize(without_deleted(path).size());
  const sdk::Fd target = directory_of(at.proc.get(), living_thread(at.proc.get(), process));
  const auto links = links_to(target.get(), range, wanted.content);
  const sdk::Fd root = root_of(target.get());
  if (!at.is_lent)
    if (auto fd = first_readable(links, wanted)) return fd;
  if (auto now = owner_of(target.get())) owner = std::move(now);
  if (!give_up_rights(owner && !at.is_lent ? &*owner : nullptr)) return sdk::Fd();
  if (at.is_lent)
    if (auto fd = first_readable(links, wanted)) return fd;
  if (auto fd = readable(named_under(root, path), wanted, Reached::ByPath)) return fd;
  return readable(named_under(at.root, path), wanted, Reached::ByPath);
}

// The process's own number, in the innermost of its namespaces.
std::string own_number(int target, std::uint64_t process) {
  sdk::TextFile file;
  const auto status = file.read(target, "status");
  const auto numbers = status ? sdk::value_of(status.value, "NSpid") : status;
  if (!numbers) return std::to_string(process);
  const std::string_view text = sdk::trimmed(numbers.value);
  return std::string(text.substr(text.find_last_of("\t ") + 1));
}

std::uint64_t written_unix_ns(const struct stat& status) {
  if (status.st_mtim.tv_sec < 0) return 0;
  return static_cast<std::uint64_t>(status.st_mtim.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
}

// A process that may have written a map: since it started, and before the next one of its number
// did.
struct MapWriter {
  TargetOwner owner;
  std::uint64_t replaced_unix_ns = UINT64_MAX;
};

bool is_of(const struct stat& status, const MapWriter& writer) {
  const std::uint64_t written = written_unix_ns(status);
  return status.st_uid == writer.owner.user &&
         written + kClockSlackNs >= writer.owner.started_unix_ns &&
         written < writer.replaced_unix_ns;
}

sdk::Fd map_under(const sdk::Fd& root, const std::string& number, const MapWriter& writer) {
  const sdk::Fd map = named_under(root, "/tmp/perf-" + number + ".map");
  struct stat status {};
  if (!is_regular(map, status) || !is_of(status, writer)) return sdk::Fd();
  return kept(opened(map), status);
}

bool is_same_process(const TargetOwner& a, const TargetOwner& b) {
  return std::max(a.started_unix_ns, b.started_unix_ns) -
             std::min(a.started_unix_ns, b.started_unix_ns) <=
         kStartSlackNs;
}

// Under the root of the process by its own number, then under that of ctprof, where agents write
// that are no part of the process. Its thread has fewer rights afterwards.
sdk::Fd open_perf_map(const Directories& at, std::uint64_t process,
                      const std::optional<TargetOwner>& known) {
  const sdk::Fd target = directory_of(at.proc.get(), process);
  const auto living = owner_of(target.get());
  const bool lives = living && (!known || is_same_process(*living, *known));
  if (!lives && !known) return sdk::Fd();
  MapWriter writer{lives ? *living : *known};
  if (living && !lives) writer.replaced_unix_ns = living->started_unix_ns;
  const std::string number = lives ? own_number(target.get(), process) : std::to_string(process);
  const sdk::Fd thread = directory_of(at.proc.get(), living_thread(at.proc.get(), process));
  const sdk::Fd root = lives ? root_of(thread.get()) : sdk::Fd();
  if (!give_up_rights(at.is_lent ? nullptr : &writer.owner)) return sdk::Fd();
  if (auto map = map_under(root, number, writer)) return map;
  return map_under(at.root, std::to_string(process), writer);
}

}  // namespace

TargetFiles::TargetFiles(int proc, std::chrono::milliseconds patience, bool is_lent,
                         std::uint64_t most_copied, std::size_t most_map)
    : at_(std::make_shared<Directories>(
          Directories{sdk::Fd(::fcntl(proc, F_DUPFD_CLOEXEC, 0)),
                      sdk::Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), is_lent})),
      patience_(patience),
      left_to_copy_(std::make_shared<std::atomic<std::uint64_t>>(most_copied)),
      most_map_(most_map) {}

// Disks of the host and what we run on ourselves always answer.
bool TargetFiles::may_wait_for(const FileId& file) const {
  if (silent_.contains(file.device)) return false;
  return held_up_ < kMostHeldUp || major(file.device) != 0 || file.device == root_device();
}

void TargetFiles::leave_out(const std::string& path) {
  if (left_out_.size() < kMostLeftOut && !std::ranges::count(left_out_, path))
    left_out_.push_back(path);
}

// What the thread still opens after that is closed with its promise.
sdk::Fd TargetFiles::in_time(std::function<sdk::Fd(const Directories&)> open) {
  const auto copying = std::make_shared<Copying>(left_to_copy_);
  std::packaged_task<sdk::Fd()> task([copying, at = at_, open = std::move(open)] {
    t_copying = copying.get();
    return open(*at);
  });
  is_left_out_ = true;
  is_changed_ = false;
  auto opened = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error&) {
    return sdk::Fd();  // RLIMIT_NPROC has no more to give
  }
  if (opened.wait_for(patience_) == std::future_status::ready) {
    sdk::Fd fd = opened.get();
    is_left_out_ = copying->is_too_large;
    is_changed_ = !fd && copying->is_changed;
    return fd;
  }
  copying->is_left_behind = true;
  ++held_up_;
  return sdk::Fd();
}

sdk::Fd TargetFiles::open(std::uint64_t process, const CodeRange& range, const std::string& path,
                          FileId file, const std::optional<TargetOwner>& owner,
                          const MappedContent& content) {
  const std::size_t before = held_up_;
  is_left_out_ = true;
  is_changed_ = false;
  sdk::Fd fd;
  if (may_wait_for(file))
    fd = in_time([=](const Directories& at) {
      return open_mapped(at, process, range, path, {file, content}, owner);
    });
  if (held_up_ > before) silent_.insert(file.device);
  if (is_left_out_) leave_out(path);
  return fd;
}

JitMap TargetFiles::perf_map(std::uint64_t process, const std::optional<TargetOwner>& owner) {
  if (held_up_ >= kMostHeldUp) return {};
  const auto fd = in_time(
      [process, owner](const Directories& at) { return open_perf_map(at, process, owner); });
  return fd ? read_perf_map(fd.get(), most_map_) : JitMap();
}

sdk::Fd TargetFiles::open_named(const std::string& path) {
  if (held_up_ >= kMostHeldUp) return sdk::Fd();
  return in_time([path](const Directories&) {
    if (!give_up_rights(nullptr)) return sdk::Fd();
    const sdk::Fd file = named(AT_FDCWD, path);
    struct stat status {};
    return is_regular(file, status) ? kept(opened(file), status) : sdk::Fd();
  });
}

std::string TargetFiles::kernel_symbols() {
  sdk::TextFile file;
  const auto text = file.read_records(at_->proc.get(), "kallsyms");
  return text ? std::string(text.value) : std::string();
}

}  // namespace ctprof
