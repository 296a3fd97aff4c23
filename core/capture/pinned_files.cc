#include "core/capture/pinned_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/helper_thread.hpp"
#include "core/capture/living_thread.hpp"

namespace ctprof {
namespace {

// Limit of queued requests, about 40 bytes each.
constexpr std::size_t kMaxQueued = 64 << 10;
// Limit of versions per file, on average; a program may write to its own files continuously.
constexpr std::size_t kContentsPerFile = 4;

struct Request {
  std::uint64_t tgid, start, end;
  FileId file;
};

std::optional<FileStamp> to_stamp(const struct statx& status) {
  constexpr unsigned kNeeded = STATX_CTIME | STATX_MTIME | STATX_SIZE;
  if ((status.stx_mask & kNeeded) != kNeeded) return std::nullopt;
  FileStamp stamp{to_ns(status.stx_ctime), to_ns(status.stx_mtime), 0, status.stx_size};
  if ((status.stx_mask & STATX_BTIME) != 0) stamp.created_ns = to_ns(status.stx_btime);
  return stamp;
}

bool read_status(int fd, struct statx& status) {
  constexpr int kFlags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  return ::statx(fd, "", kFlags, STATX_BASIC_STATS | STATX_BTIME, &status) == 0;
}

// On some file systems (btrfs, overlayfs), maps lists another device than stat(2); these file
// systems have no block device. The check is repeated when the file is opened for reading
// (target_files.hpp).
bool may_be_same_file(const struct statx& status, const FileId& file) {
  if (file.inode != status.stx_ino) return false;
  const dev_t device = makedev(status.stx_dev_major, status.stx_dev_minor);
  return file.device == device || major(file.device) == 0 || status.stx_dev_major == 0;
}

// Uses only names that the kernel provides; neither follows a path that the process chose.
sdk::Fd open_by_mapping(int proc, const Request& request, struct statx& status) {
  char range[96], exe[32];
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  const auto thread = number(find_living_thread(proc, request.tgid));
  std::snprintf(range, sizeof range, "%llu/map_files/%llx-%llx", thread, number(request.start),
                number(request.end));
  std::snprintf(exe, sizeof exe, "%llu/exe", thread);
  for (const char* name : {range, exe}) {
    sdk::Fd fd(::openat(proc, name, O_PATH | O_CLOEXEC));
    if (fd && read_status(fd.get(), status) && S_ISREG(status.stx_mode) &&
        may_be_same_file(status, request.file))
      return fd;
  }
  return sdk::Fd();
}

// Returns the number of descriptors to use; the others remain for captures and for reading files.
std::size_t max_pinned_descriptors() {
  constexpr rlim_t kShares = 4;
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / kShares : 0;
}

}  // namespace

std::optional<FileStamp> read_stamp(int fd) {
  struct statx status {};
  return read_status(fd, status) ? to_stamp(status) : std::nullopt;
}

struct PinnedFiles::Shared {
  Shared(int proc_fd, std::size_t file_limit)
      : proc(::fcntl(proc_fd, F_DUPFD_CLOEXEC, 0)), max_files(file_limit) {}

  void enqueue(const Request& request);
  void pin_all();
  std::optional<PinnedFile> last_content(const FileId& file) const;
  std::optional<PinnedFile> pin(const Request& request, std::optional<PinnedFile> last) const;
  void store(PinnedFile pinned);

  const sdk::Fd proc;
  const std::size_t max_files;
  std::mutex mutex;  // protects all members below
  std::condition_variable changed;
  std::deque<Request> queue;
  std::vector<PinnedFile> pinned;
  std::map<FileId, std::uint64_t> versions;  // the last version of each file
  bool is_working = false;                   // on a request that was removed from the queue
  bool is_running = true;
  bool must_stop = false;
};

void PinnedFiles::Shared::enqueue(const Request& request) {
  const std::lock_guard lock(mutex);
  if (!is_running || queue.size() == kMaxQueued) return;
  queue.push_back(request);
  if (queue.size() == 1) changed.notify_all();
}

// Runs in the worker thread.
void PinnedFiles::Shared::pin_all() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return must_stop || !queue.empty(); });
    if (must_stop) break;
    const Request request = queue.front();
    queue.pop_front();
    auto last = last_content(request.file);
    is_working = true;
    lock.unlock();
    auto version = pin(request, std::move(last));
    lock.lock();
    is_working = false;
    if (version) store(std::move(*version));
    if (queue.empty()) changed.notify_all();
  }
  is_running = false;
  changed.notify_all();
}

std::optional<PinnedFile> PinnedFiles::Shared::last_content(const FileId& file) const {
  const auto entry = versions.find(file);
  return entry == versions.end() ? std::nullopt : std::optional(pinned[entry->second - 1]);
}

// Returns the new version; nullopt if the contents equal `last`, or if the file cannot be pinned.
std::optional<PinnedFile> PinnedFiles::Shared::pin(const Request& request,
                                                   std::optional<PinnedFile> last) const {
  if (last) {
    const auto stamp = read_stamp(last->descriptor->get());
    if (!stamp || stamp->has_same_content(last->stamp)) return std::nullopt;
    return PinnedFile{request.file, request.tgid, *stamp, std::move(last->descriptor)};
  }
  struct statx status {};
  sdk::Fd descriptor = open_by_mapping(proc.get(), request, status);
  const auto stamp = descriptor ? to_stamp(status) : std::nullopt;
  if (!stamp) return std::nullopt;
  return PinnedFile{request.file, request.tgid, *stamp,
                    std::make_shared<const sdk::Fd>(std::move(descriptor))};
}

void PinnedFiles::Shared::store(PinnedFile now) {
  const bool is_new = !versions.contains(now.file);
  if (is_new ? versions.size() >= max_files : pinned.size() >= kContentsPerFile * max_files) return;
  versions[now.file] = pinned.size() + 1;
  now.file.version = pinned.size() + 1;
  pinned.push_back(std::move(now));
}

PinnedFiles::PinnedFiles(int proc, std::chrono::milliseconds timeout, std::size_t max_files)
    : shared_(std::make_shared<Shared>(proc, std::min(max_files, max_pinned_descriptors()))),
      request_function_([shared = shared_](std::uint64_t tgid, const Mapping& mapping) {
        if (mapping.file.inode != 0)
          shared->enqueue({tgid, mapping.start, mapping.end, mapping.file});
      }),
      timeout_(timeout) {
  thread_ = start_helper(shared_, [](Shared& shared) { shared.pin_all(); });
}

PinnedFiles::~PinnedFiles() { stop_helper(thread_, *shared_, timeout_); }

void PinnedFiles::wait() const {
  std::unique_lock lock(shared_->mutex);
  if (shared_->is_running)
    shared_->changed.wait_for(lock, timeout_,
                              [&] { return shared_->queue.empty() && !shared_->is_working; });
}

std::vector<PinnedFile> PinnedFiles::take() {
  wait();
  const std::lock_guard lock(shared_->mutex);
  shared_->queue.clear();
  shared_->versions.clear();
  return std::exchange(shared_->pinned, {});
}

}  // namespace ctprof
