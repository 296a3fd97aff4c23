#include "core/file/write/out_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <random>
#include <vector>

namespace ctprof {
namespace {

// The only data that the signal handler reads. `directory` is written last and cleared first.
struct Slot {
  std::atomic<int> directory{-1};
  char name[TemporaryFile::kMaxNameBytes + 1]{};
};
std::array<Slot, 8> slots;
static_assert(std::atomic<int>::is_always_lock_free);

std::mutex mutex;            // guards the variables below and the assignment of slots
std::size_t used_slots = 0;  // number of used slots
std::vector<std::pair<int, struct sigaction>> replaced_actions;

// SA_RESETHAND has restored the default action. The raised signal therefore ends the program when
// this handler returns.
void remove_files_and_end(int signal) {
  const int error = errno;
  remove_temporary_files();
  errno = error;
  ::raise(signal);
}

// Returns the signals that end a program by default, except crashes and signals that cannot be
// caught.
std::vector<int> terminating_signals() {
  std::vector<int> signals{SIGHUP,    SIGINT,  SIGQUIT, SIGPIPE,   SIGALRM, SIGTERM,
                           SIGUSR1,   SIGUSR2, SIGXCPU, SIGXFSZ,   SIGPROF, SIGPOLL,
                           SIGVTALRM, SIGPWR,  SIGSYS,  SIGSTKFLT, SIGTRAP};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) signals.push_back(signal);
  return signals;
}

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = &remove_files_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : terminating_signals()) {
    struct sigaction old {};
    if (::sigaction(signal, nullptr, &old) != 0 || (old.sa_flags & SA_SIGINFO) ||
        old.sa_handler != SIG_DFL)
      continue;
    if (::sigaction(signal, &action, nullptr) == 0) replaced_actions.emplace_back(signal, old);
  }
}

void restore_handlers() {
  for (const auto& [signal, old] : replaced_actions) ::sigaction(signal, &old, nullptr);
  replaced_actions.clear();
}

}  // namespace

void remove_temporary_files() {
  for (const Slot& slot : slots)
    if (const int directory = slot.directory.load(std::memory_order_acquire); directory >= 0)
      ::unlinkat(directory, slot.name, 0);
}

TemporaryFile::TemporaryFile(int directory, const std::string& name)
    : directory_(directory), name_(name), slot_(-1) {
  const std::lock_guard lock(mutex);
  const auto free =
      std::ranges::find(slots, -1, [](const Slot& slot) { return slot.directory.load(); });
  if (free == slots.end() || name.size() > kMaxNameBytes) return;
  slot_ = static_cast<int>(free - slots.begin());
  std::memcpy(free->name, name.c_str(), name.size() + 1);
  free->directory.store(directory, std::memory_order_release);
  if (used_slots++ == 0) install_handlers();
}

// Removes the file before its slot is released. A signal in between finds no file to remove.
TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) ::unlinkat(directory_, name_.c_str(), 0);
  release();
}

void TemporaryFile::release() {
  name_.clear();
  if (slot_ < 0) return;
  const std::lock_guard lock(mutex);
  slots[static_cast<std::size_t>(slot_)].directory.store(-1);
  slot_ = -1;
  if (--used_slots == 0) restore_handlers();
}

namespace {

constexpr int kMaxAttempts = 16;  // attempts to find an unused temporary name
constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

// Returns the result of fsync(), and adds its duration to `ns`.
int timed_sync(int fd, std::uint64_t& ns) {
  const auto start = std::chrono::steady_clock::now();
  const int status = ::fsync(fd);
  ns += static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start) /
                                   std::chrono::nanoseconds(1));
  return status;
}

// Makes the name durable. Ignores errors of file systems that cannot do this, because the contents
// are safe.
void sync_directory(int directory, std::uint64_t& ns) {
  const sdk::Fd readable(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (readable) timed_sync(readable.get(), ns);
}

std::string descriptor_link(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// Returns a short name. A name derived from the file's own name could exceed the limit of file
// names.
std::string temporary_name() {
  std::random_device random;
  return ".ctprof-" + std::to_string(random()) + std::to_string(random());
}

}  // namespace

Result<OutFile> OutFile::create(const Destination& destination, int standard_output) {
  destination.release_reserved_descriptor();
  if (destination.kind() != Destination::Kind::File)
    return create_stream(destination, standard_output);
  OutFile file(destination, -1);
  CTPROF_TRY(file.create_unnamed());
  CTPROF_TRY(file.copy_access());
  return file;
}

Result<OutFile> OutFile::create_stream(const Destination& destination, int standard_output) {
  OutFile file(destination, destination.kind() == Destination::Kind::StandardOutput
                                ? ::fcntl(standard_output, F_DUPFD_CLOEXEC, 0)
                                : ::open(descriptor_link(destination.stream()).c_str(),
                                         O_WRONLY | O_NOCTTY | O_CLOEXEC));
  file.is_stream_ = true;
  if (!file.fd_) return file.write_error(errno);
  return file;
}

// Falls back to a temporary name if the file system does not support O_TMPFILE, or if /proc is
// missing, which linkat() needs later.
Result<void> OutFile::create_unnamed() {
  fd_.reset(::openat(destination_->directory(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kOwnerOnly));
  if (fd_ && ::access(descriptor_link(fd_.get()).c_str(), F_OK) == 0) return {};
  return create_named();
}

Result<void> OutFile::create_named() {
  for (int attempt = 1;; ++attempt) {
    temporary_ = std::make_unique<TemporaryFile>(destination_->directory(), temporary_name());
    constexpr int kNewFileFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    fd_.reset(
        ::openat(destination_->directory(), temporary_->name().c_str(), kNewFileFlags, kOwnerOnly));
    if (fd_) return {};
    const int error = errno;
    temporary_->release();
    if (error != EEXIST || attempt == kMaxAttempts) return write_error(error);
  }
}

// Copies permissions from the replaced file. If the group cannot be copied, its permissions are
// dropped, because another group would get them.
Result<void> OutFile::copy_access() {
  CTPROF_TRY_VALUE(const auto replaced, destination_->access_of_replaced_file());
  if (!replaced) return {};
  const auto [mode, group] = *replaced;
  const bool same_group = ::fchown(fd_.get(), static_cast<uid_t>(-1), group) == 0;
  if (::fchmod(fd_.get(), same_group ? mode : mode & ~static_cast<mode_t>(S_IRWXG)) != 0)
    return write_error(errno);
  return {};
}

// Does not open a pipe or device, because a reader could take that for the end of the data.
Result<void> OutFile::check(const Destination& destination) {
  if (destination.kind() != Destination::Kind::File) return {};
  CTPROF_TRY(create(destination));
  return {};
}

Result<void> OutFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_error(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    bytes_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

// Closes the file before the rename, because some file systems report a full disk only on close.
void OutFile::read_size() {
  struct stat status {};
  if (::fstat(fd_.get(), &status) == 0) bytes_ = static_cast<std::uint64_t>(status.st_size);
}

Result<void> OutFile::commit(bool sync) {
  const bool has_place = !is_stream_;
  if (sync && has_place && timed_sync(fd_.get(), sync_ns_) != 0) return write_error(errno);
  if (has_place && !temporary_) CTPROF_TRY(link_temporary_name());
  if (::close(fd_.release()) != 0) return write_error(errno);
  if (has_place) CTPROF_TRY(rename_to_destination());
  if (sync && has_place) sync_directory(destination_->directory(), sync_ns_);
  return {};
}

// Gives the file a temporary name before the rename, because linkat() cannot replace a file and
// renameat() can.
Result<void> OutFile::link_temporary_name() {
  const std::string descriptor_path = descriptor_link(fd_.get());
  for (int attempt = 1;; ++attempt) {
    temporary_ = std::make_unique<TemporaryFile>(destination_->directory(), temporary_name());
    if (::linkat(AT_FDCWD, descriptor_path.c_str(), destination_->directory(),
                 temporary_->name().c_str(), AT_SYMLINK_FOLLOW) == 0)
      return {};
    const int error = errno;
    temporary_->release();
    if (error != EEXIST || attempt == kMaxAttempts) return write_error(error);
  }
}

Result<void> OutFile::rename_to_destination() {
  if (::renameat(destination_->directory(), temporary_->name().c_str(), destination_->directory(),
                 destination_->name().c_str()) != 0)
    return write_error(errno);
  temporary_->release();
  return {};
}

}  // namespace ctprof
