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

#include "plugins/shared/helper_confinement.hpp"

namespace ctprof {
namespace {

// Size of the header of the shared memory. The step counter has a cache line of its own.
constexpr std::size_t kHead = 64;
constexpr int kSlices = kHelperPatience * 1000 / kHelperSliceMs;
// Limits one request, regardless of the number of steps.
constexpr int kMostSlices = 120 * 1000 / kHelperSliceMs;

struct Head {
  std::atomic<std::uint32_t> steps{0};
  std::atomic<int> error{0};  // why the helper could not start
};
static_assert(sizeof(Head) <= kHead);

Head& head_in(void* shared) { return *static_cast<Head*>(shared); }
std::atomic<std::uint32_t>* steps_in(void* shared) { return &head_in(shared).steps; }

bool send_byte(int socket) {
  const char byte = 0;
  return ::send(socket, &byte, 1, MSG_NOSIGNAL) == 1;
}

bool receive_byte(int socket) {
  char byte;
  ssize_t got;
  do got = ::recv(socket, &byte, 1, 0);
  while (got < 0 && errno == EINTR);
  return got == 1;
}

}  // namespace

struct HelperProcess::Keeping {
  std::mutex mutex;
  std::condition_variable changed;
  bool started = false;
  bool over = false;

  void tell(bool& what) {
    {
      const std::lock_guard lock(mutex);
      what = true;
    }
    changed.notify_all();
  }
  void wait_for(const bool& what) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return what; });
  }
};

int wait_for_slice(int socket) {
  pollfd wanted{socket, POLLIN, 0};
  return ::poll(&wanted, 1, kHelperSliceMs);
}

HelperProcess::HelperProcess(int proc, std::size_t area_size, const HelperLimits& limits,
                             Begin begin, Wait wait)
    : shared_size_(kHead + area_size),
      busy_is_alive_(limits.busy_is_alive),
      wait_(std::move(wait)),
      keeping_(std::make_shared<Keeping>()) {
  shared_ = ::mmap(nullptr, shared_size_, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shared_ == MAP_FAILED) {
    shared_ = nullptr;
    error_ = errno;
    keeping_->started = true;
    return;
  }
  new (shared_) Head;
  start_keeper(proc, limits, std::move(begin));
}

int HelperProcess::error() {
  keeping_->wait_for(keeping_->started);
  if (error_ == 0 && !is_ready_) error_ = wait_until_ready();
  is_ready_ = true;
  return error_;
}

// If no thread can be created, no process can be created either. After is_started is set, `this`
// may be destroyed.
void HelperProcess::start_keeper(int proc, const HelperLimits& limits, Begin begin) {
  try {
    std::thread([this, keeping = keeping_, proc, limits, begin = std::move(begin)] {
      fork_helper(proc, limits, begin);
      const pid_t helper = pid_;
      keeping->tell(keeping->started);
      keeping->wait_for(keeping->over);
      while (helper > 0 && ::waitpid(helper, nullptr, 0) < 0 && errno == EINTR) continue;
    }).detach();
  } catch (const std::system_error& exception) {
    error_ = exception.code().value();
    keeping_->started = true;
  }
}

// Waits before the first request, so that a failure to start is not attributed to the data of a
// request.
int HelperProcess::wait_until_ready() {
  int slices = kSlices;
  const Reply reply = await(slices);
  if (reply == Reply::Late) return ETIMEDOUT;
  const int error = head_in(shared_).error;
  return reply == Reply::Answered ? 0 : error != 0 ? error : ECHILD;
}

void HelperProcess::fork_helper(int proc, const HelperLimits& limits, const Begin& begin) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    error_ = errno;
    return;
  }
  // No signal may run a handler of this process in the helper.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) be_helper(ends[1], proc, limits, begin, parent);
  if (pid_ < 0) error_ = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(ends[1]);
  socket_ = ends[0];
}

void HelperProcess::be_helper(int socket, int proc, const HelperLimits& limits, const Begin& begin,
                              pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  forget_signals();
  const HelperFds fds = close_all_but(socket, proc);
  if (fds.socket < 0) head_in(shared_).error = errno;
  give_up_rights(limits.cpu_seconds, limits.more_memory);
  if (::getppid() != parent || fds.socket < 0) ::_exit(1);
  try {
    const Serve serve = begin({fds.proc, area(), steps_in(shared_)});
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

std::string HelperProcess::why_none() const {
  return std::string(std::strerror(error_)) +
         (error_ == EAGAIN ? "; see the limit on processes: ulimit -u, pids.max" : "");
}

bool HelperProcess::has_ended() const {
  pollfd its_end{socket_, 0, 0};
  return ::poll(&its_end, 1, 0) == 1 && (its_end.revents & (POLLHUP | POLLERR)) != 0;
}

void* HelperProcess::area() const { return static_cast<char*>(shared_) + kHead; }

std::int64_t HelperProcess::processor_time() const {
  clockid_t clock;
  timespec time{};
  if (!busy_is_alive_ || ::clock_getcpuclockid(pid_, &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0)
    return 0;
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

HelperProcess::Reply HelperProcess::ask() {
  int slices = kMostSlices;
  return ask(slices);
}

HelperProcess::Reply HelperProcess::ask(int& slices) {
  return error() == 0 && send_byte(socket_) ? await(slices) : Reply::Gone;
}

HelperProcess::Reply HelperProcess::await(int& slices) {
  std::uint32_t steps = steps_in(shared_)->load();
  std::int64_t busy = processor_time();
  for (int idle = 0; idle < kSlices && slices > 0; ++idle, --slices) {
    const int ready = wait_(socket_);
    if (ready > 0) return receive_byte(socket_) ? Reply::Answered : Reply::Gone;
    if (ready < 0 && errno != EINTR) return Reply::Gone;
    const std::uint32_t steps_now = steps_in(shared_)->load();
    const std::int64_t busy_now = processor_time();
    if (steps_now != steps || busy_now != busy) idle = -1;
    steps = steps_now;
    busy = busy_now;
  }
  return Reply::Late;
}

HelperProcess::~HelperProcess() {
  keeping_->wait_for(keeping_->started);
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  if (socket_ >= 0) ::close(socket_);
  keeping_->tell(keeping_->over);
  if (shared_) ::munmap(shared_, shared_size_);
}

}  // namespace ctprof
