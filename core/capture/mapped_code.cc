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
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/helper_thread.hpp"
#include "ctprof/files.hpp"
#include "ctprof/other_threads.hpp"

namespace ctprof {
namespace {

// A typical process has some 10 kB of text there; a hostile one may have hundreds of megabytes.
constexpr std::size_t kMaxMapsText = 8 << 20;
// For all processes together.
constexpr std::size_t kMaxBytes = 256 << 20;

// Returns the first kMaxMapsText bytes of a file; nullopt if it cannot be read.
std::optional<std::string> read_prefix(int file) {
  std::string text;
  for (std::size_t size = 0; size < kMaxMapsText;) {
    text.resize(size + (64 << 10));
    const ssize_t count = ::read(file, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    size += static_cast<std::size_t>(count);
    text.resize(size);
    if (count == 0) break;
  }
  return text;
}

std::optional<std::string> read_maps(int process, const char* name) {
  const sdk::Fd file(::openat(process, name, O_RDONLY | O_CLOEXEC));
  return file ? read_prefix(file.get()) : std::nullopt;
}

// Reads through another thread if the main thread has exited.
std::optional<std::string> read_maps(int proc, int process, std::uint64_t tgid) {
  auto text = read_maps(process, "maps");
  if (!text || !text->empty()) return text;
  for (const std::uint64_t tid : sdk::other_threads(proc, tgid)) {
    const std::string name = "task/" + std::to_string(tid) + "/maps";
    auto thread_text = read_maps(process, name.c_str());
    if (thread_text && !thread_text->empty()) return thread_text;
  }
  return text;
}

// The time is taken before the file is opened, because the file shows the memory map of that time,
// and nothing once the process runs another program. Records report later changes.
std::optional<ProcessCode> read_code(int proc, std::uint64_t tgid) {
  const std::uint64_t now = boottime_ns();
  const sdk::Fd process(
      ::openat(proc, std::to_string(tgid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto text = read_maps(proc, process.get(), tgid);
  if (!text) return std::nullopt;
  return ProcessCode{tgid, now, parse_code_mappings(*text), read_owner(process.get())};
}

std::size_t bytes_of(const ProcessCode& code) {
  std::size_t bytes = sizeof code;
  if (code.owner) bytes += code.owner->groups.size() * sizeof(gid_t);
  for (const Mapping& mapping : code.mappings) bytes += sizeof mapping + mapping.path.size();
  return bytes;
}

}  // namespace

Mapping to_mapping(const ctprof_change& change) {
  const FileId file{makedev(change.device_major, change.device_minor), change.inode};
  return {change.start, change.start + change.length, change.offset, file,
          std::string(change.path.data, change.path.size)};
}

struct MappedCode::Shared {
  Shared(int proc_fd, OnRead callback)
      : proc(::fcntl(proc_fd, F_DUPFD_CLOEXEC, 0)), on_read(std::move(callback)) {}

  void read_all();
  void store(std::optional<ProcessCode> code);

  const sdk::Fd proc;
  const OnRead on_read;  // may be empty
  std::mutex mutex;      // protects all members below
  std::condition_variable changed;
  std::deque<std::uint64_t> queue;
  Batch batch;
  std::size_t bytes = 0;
  bool is_reading = false;  // a request that was removed from the queue
  bool is_running = true;
  bool must_stop = false;
};

// Runs in the reading thread.
void MappedCode::Shared::read_all() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return must_stop || !queue.empty(); });
    if (must_stop) break;
    const std::uint64_t tgid = queue.front();
    queue.pop_front();
    is_reading = true;
    lock.unlock();
    auto code = read_code(proc.get(), tgid);
    if (code && on_read) on_read(*code);
    lock.lock();
    is_reading = false;
    store(std::move(code));
    changed.notify_all();
  }
  is_running = false;
  changed.notify_all();
}

void MappedCode::Shared::store(std::optional<ProcessCode> code) {
  const std::size_t code_bytes = code ? bytes_of(*code) : 0;
  if (!code || bytes + code_bytes > kMaxBytes) return void(++batch.unreadable);
  bytes += code_bytes;
  batch.processes.push_back(std::move(*code));
}

MappedCode::MappedCode(int proc, std::chrono::milliseconds timeout, OnRead on_read)
    : shared_(std::make_shared<Shared>(proc, std::move(on_read))), timeout_(timeout) {
  thread_ = start_helper(shared_, [](Shared& shared) { shared.read_all(); });
}

MappedCode::~MappedCode() { stop_helper(thread_, *shared_, timeout_); }

void MappedCode::request(std::uint64_t tgid) {
  const std::lock_guard lock(shared_->mutex);
  shared_->queue.push_back(tgid);
  shared_->changed.notify_all();
}

MappedCode::Batch MappedCode::take() {
  std::unique_lock lock(shared_->mutex);
  if (shared_->is_running)
    shared_->changed.wait_for(lock, timeout_,
                              [&] { return shared_->queue.empty() && !shared_->is_reading; });
  shared_->bytes = 0;
  Batch batch = std::exchange(shared_->batch, {});
  batch.unreadable += shared_->queue.size() + (shared_->is_reading ? 1 : 0);
  shared_->queue.clear();
  return batch;
}

}  // namespace ctprof
