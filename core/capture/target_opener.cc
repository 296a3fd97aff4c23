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
constexpr std::uint64_t kStartSlackNs = kNsPerSecond;
// Tolerance for times of files and of process starts, which have the resolution of a clock tick.
constexpr std::uint64_t kClockSlackNs = 50'000'000;

// The state of one request.
struct Attempt {
  const OpenRequest& request;
  int proc, root;  // directories
  bool has_extra_rights;
  // Bytes that may be copied, shared by all attempts.
  std::atomic<std::uint64_t>& remaining_copy_bytes;
  bool is_too_large = false;
  bool is_changed = false;     // the file matches, but has other contents
  int process_directory = -1;  // directory of the process, for a mapping
  OpenedFile result = {};      // without descriptor and failure reasons
};

bool reserve_copy_bytes(Attempt& attempt, std::uint64_t size) {
  attempt.is_too_large = size > attempt.remaining_copy_bytes;
  if (!attempt.is_too_large) attempt.remaining_copy_bytes -= size;
  return !attempt.is_too_large;
}

// Bytes that an abandoned process reserved are not released, because it may still hold the copy.
sdk::Fd copy_file(int fd, off_t size, Attempt& attempt) {
  const auto bytes = static_cast<std::uint64_t>(std::max<off_t>(size, 0));
  if (!reserve_copy_bytes(attempt, bytes)) return sdk::Fd();
  if (sdk::Fd copy = copy_in_memory(fd, bytes)) {
    attempt.result.copied_bytes = bytes;
    return copy;
  }
  attempt.remaining_copy_bytes += bytes;
  return sdk::Fd();
}

// The route by which a file was reached: through a descriptor or a kernel link to the mapping,
// which cannot refer to another file; or along a path.
enum class Route : std::uint8_t { ByMapping, ByPath };

// Returns whether an open file has the requested contents. An inode that was created, or a path
// that was changed, after the mapping may belong to another file. A kernel link to the file stays
// valid if only the file's name or permissions changed.
bool has_requested_contents(int descriptor, const MappedContent& requested, Route route) {
  if (!requested.stamp && requested.mapped_unix_ns == 0) return true;
  const auto stamp = read_stamp(descriptor);
  if (!stamp) return false;
  if (requested.stamp) return stamp->has_same_content(*requested.stamp);
  const bool is_dated = route == Route::ByMapping && stamp->created_ns != 0;
  const std::uint64_t last_change_ns =
      is_dated ? std::max(stamp->created_ns, stamp->written_ns) : stamp->changed_ns;
  return last_change_ns <= requested.mapped_unix_ns;
}

// Returns the file id that maps shows, which on some file systems (btrfs, overlayfs) has another
// device than stat(2) returns. Maps the file in this process to find it.
std::optional<FileId> read_id_in_maps(int fd) {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) return std::nullopt;
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  sdk::TextFile file;
  const auto maps = file.read_records(AT_FDCWD, "/proc/self/maps");
  const auto mapping = maps ? find_mapping(maps.value, start) : std::nullopt;
  ::munmap(address, size);
  return mapping ? std::optional(mapping->file) : std::nullopt;
}

bool is_listed_in_maps_as(int fd, const FileId& file) {
  const auto listed = read_id_in_maps(fd);
  return listed && listed->device == file.device && listed->inode == file.inode;
}

// Returns whether the status belongs to that file; nullopt if maps may show another device.
std::optional<bool> is_same_file(const struct stat& status, const FileId& file) {
  if (file.device == status.st_dev && file.inode == status.st_ino) return true;
  if (major(file.device) == 0 || major(status.st_dev) == 0) return std::nullopt;
  return false;
}

std::uint64_t to_unix_ns(const timespec& time) {
  if (time.tv_sec < 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Returns whether the file has the status that the kernel reported, if the request has one.
bool has_kernel_status(const struct stat& status, const OpenRequest& requested) {
  const KernelStatus found{static_cast<std::uint64_t>(status.st_size), to_unix_ns(status.st_ctim)};
  return !requested.kernel_status || found == *requested.kernel_status;
}

// Returns the file, or a copy of it. Reads the stamp after copying, so that a concurrent write
// gives a newer stamp. The contents of an overlay file are on the device of its layer, because its
// status was compared with that of the layer's file.
sdk::Fd file_or_copy(sdk::Fd fd, const struct stat& status, Attempt& attempt) {
  if (!fd) return fd;
  const bool is_layer_file = attempt.result.overlay_file.inode != 0;
  const std::uint64_t device = is_layer_file ? attempt.request.file.device : status.st_dev;
  const bool is_copied = !is_local(fd.get(), device);
  sdk::Fd copy = is_copied ? copy_file(fd.get(), status.st_size, attempt) : sdk::Fd();
  if (is_copied && !copy) return copy;
  attempt.result.stamp = read_stamp(fd.get());
  return is_copied ? std::move(copy) : std::move(fd);
}

// Returns whether the file is on an overlay mount of the process and may have its contents in the
// requested file of a layer. Does not compare contents. Stores the id that maps shows.
bool may_be_overlay_of_layer(int fd, const struct stat& status, Attempt& attempt) {
  const OpenRequest& requested = attempt.request;
  if (!requested.kernel_status || !can_be_layer_file(status.st_ino, requested.file) ||
      !is_on_overlay_of(attempt.process_directory, fd))
    return false;
  const auto listed = read_id_in_maps(fd);
  if (!listed) return false;
  attempt.result.overlay_file = *listed;
  attempt.result.path = read_path_of_descriptor(fd);
  return true;
}

// Opens a file for reading if it is the requested one and a regular file.
sdk::Fd open_if_requested(const sdk::Fd& descriptor, Attempt& attempt, Route route) {
  const OpenRequest& requested = attempt.request;
  attempt.result = {};
  struct stat status {};
  if (!is_regular(descriptor.get(), status)) return sdk::Fd();
  const auto is_same = is_same_file(status, requested.file);
  if (is_same == false) return sdk::Fd();
  sdk::Fd fd = reopen_for_reading(descriptor.get());
  if (!fd || (!is_same && !is_listed_in_maps_as(fd.get(), requested.file) &&
              !may_be_overlay_of_layer(fd.get(), status, attempt)))
    return sdk::Fd();
  if (has_kernel_status(status, requested) &&
      has_requested_contents(descriptor.get(), requested.content, route))
    return file_or_copy(std::move(fd), status, attempt);
  attempt.is_changed = true;
  return sdk::Fd();
}

sdk::Fd open_link(int directory, const std::string& path) {
  return sdk::Fd(::openat(directory, path.c_str(), O_PATH | O_CLOEXEC));
}

// Opens a path below a root without following symbolic links.
sdk::Fd open_under(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
  if (root < 0) return sdk::Fd();
  return sdk::Fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

// Opens the directory of a process. Later opens below it refer to that process, or fail.
sdk::Fd open_process_directory(int proc, std::uint64_t process) {
  return sdk::Fd(::openat(proc, std::to_string(process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

sdk::Fd open_root(int process) {
  return sdk::Fd(::openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string map_files_name(const CodeRange& range) {
  char name[64];
  std::snprintf(name, sizeof name, "%llx-%llx", static_cast<unsigned long long>(range.start),
                static_cast<unsigned long long>(range.end));
  return name;
}

// Opens the first link to the mapping that is readable with the current rights.
sdk::Fd open_first_readable(std::span<const sdk::Fd> links, Attempt& attempt) {
  for (const sdk::Fd& link : links)
    if (auto fd = open_if_requested(link, attempt, Route::ByMapping)) return fd;
  return sdk::Fd();
}

// Opens the kernel's links to the mapped file; for a pinned file, only duplicates its descriptor,
// because all links lead to the same file.
std::vector<sdk::Fd> open_links(int target, const CodeRange& range, const MappedContent& content) {
  std::vector<sdk::Fd> links;
  if (content.descriptor) {
    links.emplace_back(::fcntl(content.descriptor->get(), F_DUPFD_CLOEXEC, 0));
    return links;
  }
  links.push_back(open_link(target, "map_files/" + map_files_name(range)));
  links.push_back(open_link(target, "exe"));
  return links;
}

sdk::Fd open_mapped(Attempt& attempt) {
  const OpenRequest& request = attempt.request;
  const std::string path = request.path.substr(0, remove_deleted_suffix(request.path).size());
  const sdk::Fd target =
      open_process_directory(attempt.proc, find_living_thread(attempt.proc, request.process));
  attempt.process_directory = target.get();
  const auto links = open_links(target.get(), request.range, request.content);
  const sdk::Fd root = open_root(target.get());
  if (!attempt.has_extra_rights)
    if (auto fd = open_first_readable(links, attempt)) return fd;
  auto owner = read_owner(target.get());
  if (!owner) owner = request.owner;
  const TargetRights rights(owner && !attempt.has_extra_rights ? &*owner : nullptr);
  if (!rights) return sdk::Fd();
  if (attempt.has_extra_rights)
    if (auto fd = open_first_readable(links, attempt)) return fd;
  if (auto fd = open_if_requested(open_under(root.get(), path), attempt, Route::ByPath)) return fd;
  return open_if_requested(open_under(attempt.root, path), attempt, Route::ByPath);
}

// Returns the pid of the process in its innermost PID namespace.
std::string innermost_pid(int target, std::uint64_t process) {
  sdk::TextFile file;
  const auto status = file.read(target, "status");
  const auto numbers = status ? sdk::value_of(status.value, "NSpid") : status;
  if (!numbers) return std::to_string(process);
  const std::string_view text = sdk::trimmed(numbers.value);
  return std::string(text.substr(text.find_last_of("\t ") + 1));
}

// A process that may have written a map between its start and the start of the next process with
// its pid.
struct MapWriter {
  TargetOwner owner;
  std::uint64_t replaced_unix_ns = UINT64_MAX;
};

bool may_be_written_by(const struct stat& status, const MapWriter& writer) {
  const std::uint64_t written_ns = to_ns(status.st_mtim);
  return status.st_uid == writer.owner.user &&
         written_ns + kClockSlackNs >= writer.owner.start_unix_ns &&
         written_ns < writer.replaced_unix_ns;
}

sdk::Fd open_map_under(int root, const std::string& pid, const MapWriter& writer,
                       Attempt& attempt) {
  const sdk::Fd map = open_under(root, "/tmp/perf-" + pid + ".map");
  struct stat status {};
  if (!is_regular(map.get(), status) || !may_be_written_by(status, writer)) return sdk::Fd();
  return file_or_copy(reopen_for_reading(map.get()), status, attempt);
}

bool is_same_process(const TargetOwner& a, const TargetOwner& b) {
  return std::max(a.start_unix_ns, b.start_unix_ns) - std::min(a.start_unix_ns, b.start_unix_ns) <=
         kStartSlackNs;
}

// Opens the map below the root of the process by its own pid, then below the root of ctprof, where
// agents outside the process write.
sdk::Fd open_perf_map(Attempt& attempt) {
  const std::uint64_t process = attempt.request.process;
  const auto& known_owner = attempt.request.owner;
  const sdk::Fd target = open_process_directory(attempt.proc, process);
  const auto current_owner = read_owner(target.get());
  const bool is_alive =
      current_owner && (!known_owner || is_same_process(*current_owner, *known_owner));
  if (!is_alive && !known_owner) return sdk::Fd();
  MapWriter writer{is_alive ? *current_owner : *known_owner};
  if (current_owner && !is_alive) writer.replaced_unix_ns = current_owner->start_unix_ns;
  const std::string pid = is_alive ? innermost_pid(target.get(), process) : std::to_string(process);
  const sdk::Fd thread =
      open_process_directory(attempt.proc, find_living_thread(attempt.proc, process));
  const sdk::Fd root = is_alive ? open_root(thread.get()) : sdk::Fd();
  const TargetRights rights(attempt.has_extra_rights ? nullptr : &writer.owner);
  if (!rights) return sdk::Fd();
  if (auto map = open_map_under(root.get(), pid, writer, attempt)) return map;
  return open_map_under(attempt.root, std::to_string(process), writer, attempt);
}

sdk::Fd open_by_path(Attempt& attempt) {
  const TargetRights rights(nullptr);
  if (!rights) return sdk::Fd();
  const sdk::Fd file = open_link(AT_FDCWD, attempt.request.path);
  struct stat status {};
  return is_regular(file.get(), status)
             ? file_or_copy(reopen_for_reading(file.get()), status, attempt)
             : sdk::Fd();
}

sdk::Fd open_requested(Attempt& attempt) {
  switch (attempt.request.kind) {
    case OpenRequest::Kind::Mapped: return open_mapped(attempt);
    case OpenRequest::Kind::PerfMap: return open_perf_map(attempt);
    case OpenRequest::Kind::ByPath: break;
  }
  return open_by_path(attempt);
}

std::shared_ptr<std::atomic<std::uint64_t>> make_shared_count(std::uint64_t value) {
  using Count = std::atomic<std::uint64_t>;
  void* const address =
      ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  return {new (address) Count(value), [](Count* count) { ::munmap(count, sizeof(Count)); }};
}

}  // namespace

TargetOpener::TargetOpener(int proc, bool has_extra_rights, std::uint64_t max_copied_bytes)
    : proc_(::fcntl(proc, F_DUPFD_CLOEXEC, 0)),
      root_(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      has_extra_rights_(has_extra_rights),
      remaining_copy_bytes_(make_shared_count(max_copied_bytes)) {}

OpenedFile TargetOpener::open(const OpenRequest& request) const {
  Attempt attempt{request, proc_.get(), root_.get(), has_extra_rights_, *remaining_copy_bytes_};
  sdk::Fd fd = open_requested(attempt);
  OpenedFile result = fd ? std::move(attempt.result) : OpenedFile();
  result.is_changed = !fd && attempt.is_changed;
  result.is_too_large = attempt.is_too_large;
  result.fd = std::move(fd);
  return result;
}

}  // namespace ctprof
