// A child process for calls that may never return.
//
// Opening or reading a file on a file system whose server does not answer can block a thread in the
// kernel, where no signal ends it, and its process cannot exit. So a child process makes such
// calls. If it takes too long, it is killed and abandoned, and the next request starts another one.
// The parent never waits for it.
//
//   ChildProcess child([](ChildMessage request) { return answer_to(std::move(request)); });
//   ChildMessage answer;
//   if (child.send_request({path, sdk::Fd()}, 1s, answer) == ChildProcess::Outcome::Answered) ...
//
// Threads: used by one thread at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/child_message.hpp"

namespace ctprof {

class ChildProcess {
 public:
  static constexpr std::size_t kMaxBytes = kMaxMessageBytes;  // of a message

  // Runs in the child, once per request. The child is a copy of this process at the first request
  // after its start; it has one thread and blocks all signals.
  using Handler = std::function<ChildMessage(ChildMessage)>;
  enum class Outcome : std::uint8_t { Answered, TimedOut, Interrupted, Failed };

  // REQUIRES: `handler` is not empty. `kept_descriptors`: descriptors that `handler` uses, which
  // must stay open while this object exists; the child closes all others.
  explicit ChildProcess(Handler handler, std::vector<int> kept_descriptors = {});
  ~ChildProcess() { abandon(true); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends a request and waits for its answer: for `timeout`, or until the descriptor `stop_fd`
  // (unless it is -1) is readable. After any outcome but Answered, the child has exited or is
  // abandoned, and `answer` is unchanged. Failed: no process could be started, or it exited.
  Outcome send_request(const ChildMessage& request, std::chrono::milliseconds timeout,
                       ChildMessage& answer, int stop_fd = -1);

 private:
  bool start();
  // `is_idle`: the child waits for a request, so that it exits as soon as it is killed.
  void abandon(bool is_idle);
  [[noreturn]] void run(int socket);
  Outcome wait(std::chrono::milliseconds timeout, int stop_fd) const;

  Handler handler_;
  std::vector<int> kept_descriptors_;
  sdk::Fd socket_;  // to the child; invalid: there is no child
  int process_ = 0;
};

}  // namespace ctprof
