#include "core/capture/target_opener.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/local_file.hpp"
#include "core/capture/living_thread.hpp"
#include "core/capture/overlay_mount.hpp"
#include "core/stacks/debug_files.hpp"

namespace ctprof {
namespace {

// Tolerated difference between two readings of one start time, because the clocks drift apart.
constexpr std::uint64_t kStartSlackNs = 1'000'000'000;
// Tolerance for times of files and of process starts, which have the resolution of a clock tick.
constexpr std::uint64_t kClockSlackNs = 50'000'000;

// The state of one request.
struct Attempt {
  const OpenRequest& request;
  int proc, root;  // directories
  bool is_lent;
  std::atomic<std::uint64_t>& left;  // bytes that may be copied, shared by all attempts
  bool is_too_large = false;
  bool is_changed = false;  // the file matches, but has other contents
  int target = -1;          // directory of the process, for a mapping
  OpenedFile opened = {};   // without descriptor and failure reasons
};

bool take(Attempt& attempt, std::uint64_t size) {
  attempt.is_too_large = size > attempt.left;
  if (!attempt.is_too_large) attempt.left -= size;
  return !attempt.is_too_large;
}

// Bytes that an abandoned process reserved are not released, because it may still hold the copy.
sdk::Fd copy_of(int fd, off_t size, Attempt& attempt) {
  const auto bytes = static_cast<std::uint64_t>(std::max<off_t>(size, 0));
  if (!take(attempt, bytes)) return sdk::Fd();
  if (sdk::Fd copy = copy_in_memory(fd, bytes)) {
    attempt.opened.copied = bytes;
    return copy;
  }
  attempt.left += bytes;
  return sdk::Fd();
}

// How a file was reached: through a descriptor or a kernel link to the mapping, which cannot refer
// to another file; or along a path.
enum class Reached : std::uint8_t { ByMapping, ByPath };

// Returns whether an open file has the requested contents. An inode that was created, or a path
// that was changed, after the mapping may belong to another file. A kernel link to the file stays
// valid if only the file's name or permissions changed.
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

// Returns the file id that maps shows, which on some file systems (btrfs, overlayfs) has another
// device than stat(2) returns. Maps the file in this process to find it.
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

// Returns whether it is that file; nullopt if maps may show another device than stat(2).
std::optional<bool> is_file(const struct stat& status, const FileId& file) {
  if (file.device == status.st_dev && file.inode == status.st_ino) return true;
  if (major(file.device) == 0 || major(status.st_dev) == 0) return std::nullopt;
  return false;
}

// Returns the file, or a copy of it. Reads the stamp after copying, so that a concurrent write
// gives a newer stamp.
sdk::Fd kept(sdk::Fd fd, const struct stat& status, Attempt& attempt) {
  if (!fd) return fd;
  const bool is_of_layer = attempt.opened.on_overlay.inode != 0;
  const std::uint64_t device = is_of_layer ? attempt.request.file.device : status.st_dev;
  const bool is_copied = !is_local(fd.get(), device);
  sdk::Fd copy = is_copied ? copy_of(fd.get(), status.st_size, attempt) : sdk::Fd();
  if (is_copied && !copy) return copy;
  attempt.opened.stamp = stamp_of(fd.get());
  return is_copied ? std::move(copy) : std::move(fd);
}

// Returns whether the file is on an overlay mount of the process and may have its contents in the
// requested file of a layer. Does not compare contents. Stores the id that maps shows.
bool is_over_layer(int fd, const struct stat& status, Attempt& attempt) {
  const OpenRequest& wanted = attempt.request;
  if (!wanted.may_be_of_layer || !can_be_of_layer(status, wanted.file) ||
      !is_on_overlay_of(attempt.target, fd))
    return false;
  const auto listed = id_in_maps(fd);
  if (!listed) return false;
  attempt.opened.on_overlay = *listed;
  attempt.opened.path = path_of_open_file(fd);
  return true;
}

// Opens a file for reading if it is the requested one and a regular file.
sdk::Fd readable(const sdk::Fd& named, Attempt& attempt, Reached reached) {
  const OpenRequest& wanted = attempt.request;
  attempt.opened = {};
  struct stat status {};
  if (!is_regular(named.get(), status)) return sdk::Fd();
  const auto is_it = is_file(status, wanted.file);
  if (is_it == false) return sdk::Fd();
  sdk::Fd fd = open_named(named.get());
  if (!fd ||
      (!is_it && !is_listed_as(fd.get(), wanted.file) && !is_over_layer(fd.get(), status, attempt)))
    return sdk::Fd();
  if (has_content(named.get(), wanted.content, reached))
    return kept(std::move(fd), status, attempt);
  attempt.is_changed = true;
  return sdk::Fd();
}

sdk::Fd named(int directory, const std::string& path) {
  return sdk::Fd(::openat(directory, path.c_str(), O_PATH | O_CLOEXEC));
}

// Opens a path below a root without following symbolic links.
sdk::Fd named_under(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
  if (root < 0) return sdk::Fd();
  return sdk::Fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

// Opens the directory of a process. Later opens below it refer to that process, or fail.
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

// Opens the first link to the mapping that is readable with the current rights.
sdk::Fd first_readable(std::span<const sdk::Fd> links, Attempt& attempt) {
  for (const sdk::Fd& link : links)
    if (auto fd = readable(link, attempt, Reached::ByMapping)) return fd;
  return sdk::Fd();
}

// Opens the kernel's links to the mapped file; for a pinned file, only duplicates its descriptor,
// because all links lead to the same file.
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

sdk::Fd open_mapped(Attempt& attempt) {
  const OpenRequest& request = attempt.request;
  const std::string path = request.path.substr(0, without_deleted(request.path).size());
  const sdk::Fd target = directory_of(attempt.proc, living_thread(attempt.proc, request.process));
  attempt.target = target.get();
  const auto links = links_to(target.get(), request.range, request.content);
  const sdk::Fd root = root_of(target.get());
  if (!attempt.is_lent)
    if (auto fd = first_readable(links, attempt)) return fd;
  auto owner = owner_of(target.get());
  if (!owner) owner = request.owner;
  const TargetRights rights(owner && !attempt.is_lent ? &*owner : nullptr);
  if (!rights) return sdk::Fd();
  if (attempt.is_lent)
    if (auto fd = first_readable(links, attempt)) return fd;
  if (auto fd = readable(named_under(root.get(), path), attempt, Reached::ByPath)) return fd;
  return readable(named_under(attempt.root, path), attempt, Reached::ByPath);
}

// Returns the pid of the process in its innermost PID namespace.
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

// A process that may have written a map between its start and the start of the next process with
// its pid.
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

sdk::Fd map_under(int root, const std::string& number, const MapWriter& writer, Attempt& attempt) {
  const sdk::Fd map = named_under(root, "/tmp/perf-" + number + ".map");
  struct stat status {};
  if (!is_regular(map.get(), status) || !is_of(status, writer)) return sdk::Fd();
  return kept(open_named(map.get()), status, attempt);
}

bool is_same_process(const TargetOwner& a, const TargetOwner& b) {
  return std::max(a.started_unix_ns, b.started_unix_ns) -
             std::min(a.started_unix_ns, b.started_unix_ns) <=
         kStartSlackNs;
}

// Opens the map below the root of the process by its own pid, then below the root of ctprof, where
// agents outside the process write.
sdk::Fd open_perf_map(Attempt& attempt) {
  const std::uint64_t process = attempt.request.process;
  const auto& known = attempt.request.owner;
  const sdk::Fd target = directory_of(attempt.proc, process);
  const auto living = owner_of(target.get());
  const bool lives = living && (!known || is_same_process(*living, *known));
  if (!lives && !known) return sdk::Fd();
  MapWriter writer{lives ? *living : *known};
  if (living && !lives) writer.replaced_unix_ns = living->started_unix_ns;
  const std::string number = lives ? own_number(target.get(), process) : std::to_string(process);
  const sdk::Fd thread = directory_of(attempt.proc, living_thread(attempt.proc, process));
  const sdk::Fd root = lives ? root_of(thread.get()) : sdk::Fd();
  const TargetRights rights(attempt.is_lent ? nullptr : &writer.owner);
  if (!rights) return sdk::Fd();
  if (auto map = map_under(root.get(), number, writer, attempt)) return map;
  return map_under(attempt.root, std::to_string(process), writer, attempt);
}

sdk::Fd open_by_path(Attempt& attempt) {
  const TargetRights rights(nullptr);
  if (!rights) return sdk::Fd();
  const sdk::Fd file = named(AT_FDCWD, attempt.request.path);
  struct stat status {};
  return is_regular(file.get(), status) ? kept(open_named(file.get()), status, attempt) : sdk::Fd();
}

sdk::Fd open_any(Attempt& attempt) {
  switch (attempt.request.kind) {
    case OpenRequest::Kind::Mapped: return open_mapped(attempt);
    case OpenRequest::Kind::PerfMap: return open_perf_map(attempt);
    case OpenRequest::Kind::Named: break;
  }
  return open_by_path(attempt);
}

std::shared_ptr<std::atomic<std::uint64_t>> shared_count(std::uint64_t value) {
  using Count = std::atomic<std::uint64_t>;
  void* const at =
      ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return {new (at) Count(value), [](Count* count) { ::munmap(count, sizeof(Count)); }};
}

}  // namespace

TargetOpener::TargetOpener(int proc, bool is_lent, std::uint64_t most_copied)
    : proc_(::fcntl(proc, F_DUPFD_CLOEXEC, 0)),
      root_(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      is_lent_(is_lent),
      left_to_copy_(shared_count(most_copied)) {}

OpenedFile TargetOpener::open(const OpenRequest& request) const {
  Attempt attempt{request, proc_.get(), root_.get(), is_lent_, *left_to_copy_};
  sdk::Fd fd = open_any(attempt);
  OpenedFile result = fd ? std::move(attempt.opened) : OpenedFile();
  result.is_changed = !fd && attempt.is_changed;
  result.is_too_large = attempt.is_too_large;
  result.fd = std::move(fd);
  return result;
}

}  // namespace ctprof
