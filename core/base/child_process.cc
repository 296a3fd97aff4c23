#include "core/base/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace ctprof {
namespace {

// A message with space for one descriptor. It points into itself, so it is neither copied nor
// moved.
class SocketMessage {
 public:
  SocketMessage(char* bytes, std::size_t size) : bytes_{bytes, size} {
    message_.msg_iov = &bytes_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
  }
  SocketMessage(const SocketMessage&) = delete;
  SocketMessage& operator=(const SocketMessage&) = delete;

  void attach(int fd) {
    if (fd < 0) {
      message_.msg_controllen = 0;
      return;
    }
    cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  sdk::Fd take_descriptor() {
    int fd = -1;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    if (header && header->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return sdk::Fd(fd);
  }
  msghdr* get() { return &message_; }

 private:
  iovec bytes_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_{};
  msghdr message_{};
};

// Prepends a byte, because an empty message would look like the end of the connection.
bool send_message(int socket, const ChildMessage& message) {
  if (message.bytes.size() >= ChildProcess::kMaxBytes) return false;
  std::string bytes = "+" + message.bytes;
  SocketMessage socket_message(bytes.data(), bytes.size());
  socket_message.attach(message.fd ? message.fd.get() : -1);
  ssize_t size = 0;
  do size = ::sendmsg(socket, socket_message.get(), MSG_NOSIGNAL);
  while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(bytes.size());
}

std::optional<ChildMessage> receive_message(int socket) {
  std::string bytes(ChildProcess::kMaxBytes, '\0');
  SocketMessage socket_message(bytes.data(), bytes.size());
  ssize_t size = 0;
  do size = ::recvmsg(socket, socket_message.get(), MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  return ChildMessage{bytes.substr(1, static_cast<std::size_t>(size) - 1),
                      socket_message.take_descriptor()};
}

void close_all_except(std::vector<int> kept_descriptors) {
  std::ranges::sort(kept_descriptors);
  unsigned next = 0;
  for (const int fd : kept_descriptors) {
    const auto descriptor = static_cast<unsigned>(fd);
    if (descriptor > next) ::close_range(next, descriptor - 1, 0);
    next = descriptor + 1;
  }
  ::close_range(next, UINT_MAX, 0);
}

// Opens /dev/null for standard descriptors that are not kept, so that output to them cannot reach a
// file that is opened later.
void fill_standard_descriptors() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd <= STDERR_FILENO && fd >= 0) continue;
    if (fd >= 0) ::close(fd);
    return;
  }
}

// Abandoned children of all objects become zombies when their server answers. They are reaped when
// the next child is abandoned.
void reap_later(int process) {
  static std::mutex mutex;
  static std::vector<int> processes;
  const std::lock_guard lock(mutex);
  processes.push_back(process);
  std::erase_if(processes, [](int process) { return ::waitpid(process, nullptr, WNOHANG) != 0; });
}

}  // namespace

ChildProcess::ChildProcess(Handler handler, std::vector<int> kept_descriptors)
    : handler_(std::move(handler)), kept_descriptors_(std::move(kept_descriptors)) {}

// The child keeps no pipe of this process open, whose reader would wait for it, and runs none of
// its signal handlers.
void ChildProcess::run(int socket) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  kept_descriptors_.push_back(socket);
  close_all_except(kept_descriptors_);
  fill_standard_descriptors();
  try {
    while (auto request = receive_message(socket))
      if (!send_message(socket, handler_(std::move(*request)))) break;
  } catch (const std::exception&) {  // out of memory: the parent reads the end of the connection
    ::_exit(1);
  }
  ::_exit(0);
}

bool ChildProcess::start() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return false;
  socket_.reset(sockets[0]);
  const sdk::Fd child_socket(sockets[1]);
  process_ = ::fork();
  if (process_ == 0) run(child_socket.get());
  if (process_ < 0) socket_ = sdk::Fd();
  return process_ > 0;
}

// A child that waits for a file system may not even be killable, and is not waited for.
void ChildProcess::abandon(bool is_idle) {
  if (!socket_) return;
  socket_ = sdk::Fd();
  ::kill(process_, SIGKILL);
  if (!is_idle || ::waitpid(process_, nullptr, 0) != process_) reap_later(process_);
}

ChildProcess::Outcome ChildProcess::wait(std::chrono::milliseconds timeout, int stop_fd) const {
  pollfd descriptors[2]{{socket_.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  int ready = 0;
  do {
    const auto remaining =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ready = ::poll(descriptors, 2,
                   static_cast<int>(std::clamp<std::int64_t>(remaining.count(), 0, INT_MAX)));
  } while (ready < 0 && errno == EINTR);
  if (descriptors[0].revents != 0) return Outcome::Answered;
  return ready > 0 ? Outcome::Interrupted : Outcome::TimedOut;
}

ChildProcess::Outcome ChildProcess::send_request(const ChildMessage& request,
                                                 std::chrono::milliseconds timeout,
                                                 ChildMessage& answer, int stop_fd) {
  if (!socket_ && !start()) return Outcome::Failed;
  Outcome outcome = Outcome::Failed;
  if (send_message(socket_.get(), request)) outcome = wait(timeout, stop_fd);
  if (outcome == Outcome::Answered) {
    if (auto received = receive_message(socket_.get())) {
      answer = std::move(*received);
      return outcome;
    }
    outcome = Outcome::Failed;
  }
  abandon(false);
  return outcome;
}

}  // namespace ctprof
