#include "core/capture/mapped_code.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "ctprof/files.hpp"
#include "ctprof/other_threads.hpp"

namespace ctprof {
namespace {

// A typical process has some 10 kB of text there; a hostile one may have hundreds of megabytes.
constexpr std::size_t kMostMapsText = 8 << 20;
// For all processes together.
constexpr std::size_t kMostBytes = 256 << 20;

// Returns the first kMaxMapsText bytes of a file; nullopt if it cannot be read.
std::optional<std::string> beginning_of(int file) {
  std::string text;
  for (std::size_t size = 0; size < kMostMapsText;) {
    text.resize(size + (64 << 10));
    const ssize_t got = ::read(file, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    size += static_cast<std::size_t>(got);
    text.resize(size);
    if (got == 0) break;
  }
  return text;
}

std::optional<std::string> text_of_maps(int process, const char* name) {
  const sdk::Fd file(::openat(process, name, O_RDONLY | O_CLOEXEC));
  return file ? beginning_of(file.get()) : std::nullopt;
}

// Reads through another thread if the main thread has exited.
std::optional<std::string> text_of_maps(int proc, int process, std::uint64_t tgid) {
  auto text = text_of_maps(process, "maps");
  if (!text || !text->empty()) return text;
  for (const std::uint64_t tid : sdk::other_threads(proc, tgid)) {
    const std::string name = "task/" + std::to_string(tid) + "/maps";
    auto of_thread = text_of_maps(process, name.c_str());
    if (of_thread && !of_thread->empty()) return of_thread;
  }
  return text;
}

// The time is taken before the file is opened, because the file shows the memory map of that time,
// and nothing once the process runs another program. Records report later changes.
std::optional<ProcessCode> code_of(int proc, std::uint64_t tgid) {
  const std::uint64_t now = boottime_ns();
  const sdk::Fd process(
      ::openat(proc, std::to_string(tgid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto text = text_of_maps(proc, process.get(), tgid);
  if (!text) return std::nullopt;
  return ProcessCode{tgid, now, code_mappings(*text), owner_of(process.get())};
}

std::size_t bytes_of(const ProcessCode& code) {
  std::size_t bytes = sizeof code;
  if (code.owner) bytes += code.owner->groups.size() * sizeof(gid_t);
  for (const Mapping& mapping : code.mappings) bytes += sizeof mapping + mapping.path.size();
  return bytes;
}

}  // namespace

Mapping mapping_of(const ctprof_change& change) {
  const FileId file{makedev(change.device_major, change.device_minor), change.inode};
  return {change.start, change.start + change.length, change.offset, file,
          std::string(change.path.data, change.path.size)};
}

struct MappedCode::Shared {
  Shared(int proc_fd, Seen seen_by)
      : proc(::fcntl(proc_fd, F_DUPFD_CLOEXEC, 0)), seen(std::move(seen_by)) {}

  void read_all();
  void keep(std::optional<ProcessCode> code);

  const sdk::Fd proc;
  const Seen seen;   // may be empty
  std::mutex mutex;  // protects all members below
  std::condition_variable changed;
  std::deque<std::uint64_t> wanted;
  Taken taken;
  std::size_t bytes = 0;
  bool reads = false;  // a request that was removed from the queue
  bool runs = true;
  bool ends = false;
};

// Runs in the reading thread.
void MappedCode::Shared::read_all() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ends || !wanted.empty(); });
    if (ends) break;
    const std::uint64_t tgid = wanted.front();
    wanted.pop_front();
    reads = true;
    lock.unlock();
    auto code = code_of(proc.get(), tgid);
    if (code && seen) seen(*code);
    lock.lock();
    reads = false;
    keep(std::move(code));
    changed.notify_all();
  }
  runs = false;
  changed.notify_all();
}

void MappedCode::Shared::keep(std::optional<ProcessCode> code) {
  const std::size_t more = code ? bytes_of(*code) : 0;
  if (!code || bytes + more > kMostBytes) return void(++taken.unknown);
  bytes += more;
  taken.processes.push_back(std::move(*code));
}

MappedCode::MappedCode(int proc, std::chrono::milliseconds patience, Seen seen)
    : shared_(std::make_shared<Shared>(proc, std::move(seen))), patience_(patience) {
  try {
    thread_ = std::thread([shared = shared_] { shared->read_all(); });
  } catch (const std::system_error&) {
    shared_->runs = false;  // RLIMIT_NPROC permits no more threads
  }
}

MappedCode::~MappedCode() {
  std::unique_lock lock(shared_->mutex);
  shared_->ends = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, patience_, [&] { return !shared_->runs; });
  lock.unlock();
  if (thread_.joinable()) ended ? thread_.join() : thread_.detach();
}

void MappedCode::want(std::uint64_t tgid) {
  const std::lock_guard lock(shared_->mutex);
  shared_->wanted.push_back(tgid);
  shared_->changed.notify_all();
}

MappedCode::Taken MappedCode::take() {
  std::unique_lock lock(shared_->mutex);
  if (shared_->runs)
    shared_->changed.wait_for(lock, patience_,
                              [&] { return shared_->wanted.empty() && !shared_->reads; });
  shared_->bytes = 0;
  Taken taken = std::exchange(shared_->taken, {});
  taken.unknown += shared_->wanted.size() + (shared_->reads ? 1 : 0);
  shared_->wanted.clear();
  return taken;
}

}  // namespace ctprof
