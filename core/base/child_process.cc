#include "core/base/child_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <exception>
#include <utility>

#include "core/base/child_setup.hpp"

namespace ctprof {

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
