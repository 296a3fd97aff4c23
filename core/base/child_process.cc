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
  sdk::Fd attached() {
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
  if (message.bytes.size() >= ChildProcess::kMostBytes) return false;
  std::string bytes = "+" + message.bytes;
  SocketMessage sent(bytes.data(), bytes.size());
  sent.attach(message.fd ? message.fd.get() : -1);
  ssize_t size = 0;
  do size = ::sendmsg(socket, sent.get(), MSG_NOSIGNAL);
  while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(bytes.size());
}

std::optional<ChildMessage> received_message(int socket) {
  std::string bytes(ChildProcess::kMostBytes, '\0');
  SocketMessage received(bytes.data(), bytes.size());
  ssize_t size = 0;
  do size = ::recvmsg(socket, received.get(), MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  return ChildMessage{bytes.substr(1, static_cast<std::size_t>(size) - 1), received.attached()};
}

void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned next = 0;
  for (const int fd : kept) {
    const auto at = static_cast<unsigned>(fd);
    if (at > next) ::close_range(next, at - 1, 0);
    next = at + 1;
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
  std::erase_if(processes, [](int one) { return ::waitpid(one, nullptr, WNOHANG) != 0; });
}

}  // namespace

ChildProcess::ChildProcess(Serve serve, std::vector<int> keep)
    : serve_(std::move(serve)), keep_(std::move(keep)) {}

// The child keeps no pipe of this process open, whose reader would wait for it, and runs none of
// its signal handlers.
void ChildProcess::run(int socket) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  keep_.push_back(socket);
  close_all_but(keep_);
  fill_standard_descriptors();
  try {
    while (auto request = received_message(socket))
      if (!send_message(socket, serve_(std::move(*request)))) break;
  } catch (const std::exception&) {  // out of memory: the parent reads the end of the connection
    ::_exit(1);
  }
  ::_exit(0);
}

bool ChildProcess::start() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return false;
  socket_.reset(sockets[0]);
  const sdk::Fd theirs(sockets[1]);
  process_ = ::fork();
  if (process_ == 0) run(theirs.get());
  if (process_ < 0) socket_ = sdk::Fd();
  return process_ > 0;
}

// A child that waits for a file system may not even be killable, and is not waited for.
void ChildProcess::leave(bool is_idle) {
  if (!socket_) return;
  socket_ = sdk::Fd();
  ::kill(process_, SIGKILL);
  if (!is_idle || ::waitpid(process_, nullptr, 0) != process_) reap_later(process_);
}

ChildProcess::Outcome ChildProcess::wait(std::chrono::milliseconds patience, int stop) const {
  pollfd ends[2]{{socket_.get(), POLLIN, 0}, {stop, POLLIN, 0}};
  const auto until = std::chrono::steady_clock::now() + patience;
  int ready = 0;
  do {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    ready = ::poll(ends, 2, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX)));
  } while (ready < 0 && errno == EINTR);
  if (ends[0].revents != 0) return Outcome::Answered;
  return ready > 0 ? Outcome::Interrupted : Outcome::Late;
}

ChildProcess::Outcome ChildProcess::ask(const ChildMessage& request,
                                        std::chrono::milliseconds patience, ChildMessage& answer,
                                        int stop) {
  if (!socket_ && !start()) return Outcome::Failed;
  Outcome outcome = Outcome::Failed;
  if (send_message(socket_.get(), request)) outcome = wait(patience, stop);
  if (outcome == Outcome::Answered) {
    if (auto received = received_message(socket_.get())) {
      answer = std::move(*received);
      return outcome;
    }
    outcome = Outcome::Failed;
  }
  leave(false);
  return outcome;
}

}  // namespace ctprof
