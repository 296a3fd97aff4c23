// A helper process for work that may block: reading files and memory of other processes, whose file
// server may have stopped answering.
//
// A thread that blocks in the kernel keeps its process from exiting, and a descriptor that it holds
// keeps the reader of our output waiting. Therefore the helper is a separate process. It is forked
// without exec, because capabilities from a file would not survive exec. The helper inherits no
// descriptor except a socket. It has default signal handling, a session of its own, few
// capabilities, and limits, and it exits when its parent exits. Requests and answers are in shared
// memory. The parent does not trust what the helper writes there, because a hostile file may have
// taken over the helper.
//
// A helper that does not answer is killed and abandoned. The parent does not wait for it, because a
// process that blocks in the kernel cannot be killed either.
//
// The users of this file define the requests, and handle requests without an answer.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ctprof {

// The resources that the helper can access.
struct HelperContext {
  int proc;                           // the open directory /proc
  void* area;                         // shared with the parent; initially zero
  std::atomic<std::uint32_t>* steps;  // incremented after each piece of work, as proof of progress
};

struct HelperLimits {
  unsigned cpu_seconds;        // for its whole life
  std::uint64_t extra_memory;  // in addition to the memory of the parent when the helper is created
  bool cpu_time_is_progress;   // whether CPU time counts as progress
};

// Waits for one time slice until `socket` is readable, and returns the result of poll(2).
// kHelperTimeoutSeconds is measured in calls of this function.
int wait_for_slice(int socket);

// Only one thread may use an object at a time.
class HelperProcess {
 public:
  using WaitFunction = std::function<int(int socket)>;
  using RequestHandler = std::function<void()>;
  // Runs once, in the helper. The function that it returns answers one request per call.
  using StartFunction = std::function<RequestHandler(const HelperContext&)>;

  // `proc` is the open directory /proc. Returns before the helper runs.
  HelperProcess(int proc, std::size_t area_size, const HelperLimits& limits, StartFunction begin,
                WaitFunction wait = wait_for_slice);
  // Kills the helper without waiting; the thread that forked the helper waits for it.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // Returns 0, or an errno if there is no helper. Waits until the helper is ready or has failed to
  // start.
  int error();
  // Returns whether the helper has exited, by itself or by a signal. REQUIRES: error() is 0.
  bool has_exited() const;
  // Describes the error and its remedy. REQUIRES: error() has been called.
  std::string describe_error() const;
  void* area() const;

  enum class Reply { Answered, TimedOut, Unavailable };
  // Makes the helper serve the request in the area.
  // Returns TimedOut if the helper made no step for kHelperTimeoutSeconds, or used more than
  // `slices` time slices in total, and Unavailable if it exited or was never started. After any
  // result except Answered the helper is unusable. Subtracts the time slices used from `slices`.
  Reply request(int& slices);
  Reply request();

 private:
  // State of the thread that forked the helper. The kernel kills the helper when this thread exits,
  // so the thread lives as long as the helper, even after the object is destroyed.
  struct KeeperState;

  void start_keeper(int proc, const HelperLimits& limits, StartFunction begin);
  int wait_until_ready();
  Reply await_reply(int& slices);
  void fork_helper(int proc, const HelperLimits& limits, const StartFunction& begin);
  [[noreturn]] void run_helper(int socket, int proc, const HelperLimits& limits,
                               const StartFunction& begin, pid_t parent);
  std::int64_t cpu_time() const;

  void* shared_ = nullptr;
  std::size_t shared_size_ = 0;
  bool cpu_time_is_progress_ = false;
  WaitFunction wait_;
  int error_ = 0;
  bool is_ready_ = false;
  int socket_ = -1;
  pid_t pid_ = -1;
  std::shared_ptr<KeeperState> keeper_state_;
};

// The longest time without a step, in seconds.
inline constexpr int kHelperTimeoutSeconds = 2;
// The timeout is counted in slices, so that it does not expire immediately when ctprof itself was
// stopped.
inline constexpr int kHelperSliceMs = 250;

}  // namespace ctprof
