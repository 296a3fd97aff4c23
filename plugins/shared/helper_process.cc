#include "plugins/shared/helper_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/clock.hpp"
#include "plugins/shared/helper_confinement.hpp"

namespace ctprof {
namespace {

// Size of the header of the shared memory. The step counter has a cache line of its own.
constexpr std::size_t kHeaderSize = 64;
constexpr int kTimeoutSlices = kHelperTimeoutSeconds * 1000 / kHelperSliceMs;
// Limits one request, regardless of the number of steps.
constexpr int kMaxSlices = 120 * 1000 / kHelperSliceMs;

struct Header {
  std::atomic<std::uint32_t> steps{0};
  std::atomic<int> error{0};  // why the helper could not start
};
static_assert(sizeof(Header) <= kHeaderSize);

Header& header_of(void* shared) { return *static_cast<Header*>(shared); }
std::atomic<std::uint32_t>* steps_of(void* shared) { return &header_of(shared).steps; }

bool send_byte(int socket) {
  const char byte = 0;
  return ::send(socket, &byte, 1, MSG_NOSIGNAL) == 1;
}

bool receive_byte(int socket) {
  char byte;
  ssize_t size;
  do size = ::recv(socket, &byte, 1, 0);
  while (size < 0 && errno == EINTR);
  return size == 1;
}

}  // namespace

struct HelperProcess::KeeperState {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_started = false;
  bool is_finished = false;

  void set_flag(bool& flag) {
    {
      const std::lock_guard lock(mutex);
      flag = true;
    }
    changed.notify_all();
  }
  void wait_for(const bool& flag) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return flag; });
  }
};

int wait_for_slice(int socket) {
  pollfd poll_fd{socket, POLLIN, 0};
  return ::poll(&poll_fd, 1, kHelperSliceMs);
}

HelperProcess::HelperProcess(int proc, std::size_t area_size, const HelperLimits& limits,
                             StartFunction begin, WaitFunction wait)
    : shared_size_(kHeaderSize + area_size),
      cpu_time_is_progress_(limits.cpu_time_is_progress),
      wait_(std::move(wait)),
      keeper_state_(std::make_shared<KeeperState>()) {
  shared_ = ::mmap(nullptr, shared_size_, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shared_ == MAP_FAILED) {
    shared_ = nullptr;
    error_ = errno;
    keeper_state_->is_started = true;
    return;
  }
  new (shared_) Header;
  start_keeper(proc, limits, std::move(begin));
}

int HelperProcess::error() {
  keeper_state_->wait_for(keeper_state_->is_started);
  if (error_ == 0 && !is_ready_) error_ = wait_until_ready();
  is_ready_ = true;
  return error_;
}

// If no thread can be created, no process can be created either. After is_started is set, `this`
// may be destroyed.
void HelperProcess::start_keeper(int proc, const HelperLimits& limits, StartFunction begin) {
  try {
    std::thread([this, keeping = keeper_state_, proc, limits, begin = std::move(begin)] {
      fork_helper(proc, limits, begin);
      const pid_t helper = pid_;
      keeping->set_flag(keeping->is_started);
      keeping->wait_for(keeping->is_finished);
      while (helper > 0 && ::waitpid(helper, nullptr, 0) < 0 && errno == EINTR) continue;
    }).detach();
  } catch (const std::system_error& exception) {
    error_ = exception.code().value();
    keeper_state_->is_started = true;
  }
}

// Waits before the first request, so that a failure to start is not attributed to the data of a
// request.
int HelperProcess::wait_until_ready() {
  int slices = kTimeoutSlices;
  const Reply reply = await_reply(slices);
  if (reply == Reply::TimedOut) return ETIMEDOUT;
  const int error = header_of(shared_).error;
  return reply == Reply::Answered ? 0 : error != 0 ? error : ECHILD;
}

void HelperProcess::fork_helper(int proc, const HelperLimits& limits, const StartFunction& begin) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    error_ = errno;
    return;
  }
  // No signal may run a handler of this process in the helper.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) run_helper(sockets[1], proc, limits, begin, parent);
  if (pid_ < 0) error_ = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(sockets[1]);
  socket_ = sockets[0];
}

void HelperProcess::run_helper(int socket, int proc, const HelperLimits& limits,
                               const StartFunction& begin, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  reset_signals();
  const HelperFds fds = close_other_descriptors(socket, proc);
  if (fds.socket < 0) header_of(shared_).error = errno;
  confine_process(limits.cpu_seconds, limits.extra_memory);
  if (::getppid() != parent || fds.socket < 0) ::_exit(1);
  try {
    const RequestHandler serve = begin({fds.proc, area(), steps_of(shared_)});
    if (!send_byte(fds.socket)) ::_exit(1);
    while (receive_byte(fds.socket)) {
      serve();
      if (!send_byte(fds.socket)) break;
    }
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

std::string HelperProcess::describe_error() const {
  return std::string(std::strerror(error_)) +
         (error_ == EAGAIN ? "; see the limit on processes: ulimit -u, pids.max" : "");
}

bool HelperProcess::has_exited() const {
  pollfd poll_fd{socket_, 0, 0};
  return ::poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLHUP | POLLERR)) != 0;
}

void* HelperProcess::area() const { return static_cast<char*>(shared_) + kHeaderSize; }

std::int64_t HelperProcess::cpu_time() const {
  clockid_t clock;
  timespec time{};
  if (!cpu_time_is_progress_ || ::clock_getcpuclockid(pid_, &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0)
    return 0;
  return static_cast<std::int64_t>(to_ns(time));
}

HelperProcess::Reply HelperProcess::request() {
  int slices = kMaxSlices;
  return request(slices);
}

HelperProcess::Reply HelperProcess::request(int& slices) {
  return error() == 0 && send_byte(socket_) ? await_reply(slices) : Reply::Unavailable;
}

HelperProcess::Reply HelperProcess::await_reply(int& slices) {
  std::uint32_t steps = steps_of(shared_)->load();
  std::int64_t last_cpu_time = cpu_time();
  for (int idle = 0; idle < kTimeoutSlices && slices > 0; ++idle, --slices) {
    const int ready = wait_(socket_);
    if (ready > 0) return receive_byte(socket_) ? Reply::Answered : Reply::Unavailable;
    if (ready < 0 && errno != EINTR) return Reply::Unavailable;
    const std::uint32_t steps_now = steps_of(shared_)->load();
    const std::int64_t cpu_time_now = cpu_time();
    if (steps_now != steps || cpu_time_now != last_cpu_time) idle = -1;
    steps = steps_now;
    last_cpu_time = cpu_time_now;
  }
  return Reply::TimedOut;
}

HelperProcess::~HelperProcess() {
  keeper_state_->wait_for(keeper_state_->is_started);
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  if (socket_ >= 0) ::close(socket_);
  keeper_state_->set_flag(keeper_state_->is_finished);
  if (shared_) ::munmap(shared_, shared_size_);
}

}  // namespace ctprof
