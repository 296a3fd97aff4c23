// A helper process for work that may hang: reading files and memory of other processes, behind
// which a file server may have stopped answering.
//
// A thread that hangs in the kernel keeps its process from ending, and a descriptor that it holds
// keeps the reader of our output waiting. So the helper is a process, forked without exec, which
// capabilities from a file would not survive. It has no descriptor of ours but a socket, the signal
// handling of a fresh process, a session of its own, few capabilities, and limits; it ends when we
// do. Requests and answers are in shared memory. What the helper writes there is not trusted, as a
// hostile file may have taken the helper over.
//
// A helper that does not answer is killed and abandoned. Nothing waits for it, as a process that
// hangs in the kernel cannot be killed either.
//
// What is here:   making it, asking it, getting rid of it.
// What is not:    what it is asked, and what becomes of a request without an answer: its users.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ctprof {

// As the helper sees itself.
struct HelperView {
  int proc;    // the open directory /proc
  void* area;  // shared with who asks; zeroes at first
  std::atomic<std::uint32_t>*
      steps;  // raised with each piece of work done, which shows that it does not hang
};

struct HelperLimits {
  unsigned cpu_seconds;       // of its whole life
  std::uint64_t more_memory;  // beyond what we have when it is made
  bool busy_is_alive;         // whether using a processor counts as a step
};

// Waits for a slice of time until `socket` can be read, and returns what poll(2) does.
// kHelperPatience is counted in its calls.
int wait_for_slice(int socket);

// Used by one thread at a time.
class HelperProcess {
 public:
  using Wait = std::function<int(int socket)>;
  using Serve = std::function<void()>;
  // Runs in the helper, once; what it returns answers one request at a time.
  using Begin = std::function<Serve(const HelperView&)>;

  // `proc` is the open directory /proc. Does not wait until the helper is there.
  HelperProcess(int proc, std::size_t area_size, const HelperLimits& limits, Begin begin,
                Wait wait = wait_for_slice);
  // Kills it, and does not wait: the thread that made it does, and collects it.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // 0, or why there is none, an errno. Waits until the helper has said that it can be asked, or
  // could not be made.
  int error();
  // Whether it has ended, by itself or by somebody's signal. REQUIRES: error() is 0.
  bool has_ended() const;
  // The error in words, with what there is to do about it. REQUIRES: error() has been called.
  std::string why_none() const;
  void* area() const;

  enum class Reply { Answered, Late, Gone };
  // Has it serve what stands in the area. Late: it took no step for kPatience. After another reply
  // than Answered it is of no use any more. Late too when it took more slices of time than
  // `slices`, whatever steps it took; those that it took are taken off. Gone where there is none.
  Reply ask(int& slices);
  Reply ask();

 private:
  // The helper is killed by the kernel when the thread ends that forked it; so that thread lives as
  // long as the helper, whoever else has gone by then.
  struct Keeping;

  void start_keeper(int proc, const HelperLimits& limits, Begin begin);
  int wait_until_ready();
  Reply await(int& slices);
  void fork_helper(int proc, const HelperLimits& limits, const Begin& begin);
  [[noreturn]] void be_helper(int socket, int proc, const HelperLimits& limits, const Begin& begin,
                              pid_t parent);
  std::int64_t processor_time() const;

  void* shared_ = nullptr;
  std::size_t shared_size_ = 0;
  bool busy_is_alive_ = false;
  Wait wait_;
  int error_ = 0;
  bool is_ready_ = false;
  int socket_ = -1;
  pid_t pid_ = -1;
  std::shared_ptr<Keeping> keeping_;
};

// How long a helper may take no step, in seconds.
inline constexpr int kHelperPatience = 2;
// Patience is counted in slices, so that it is not over at once when we were stopped ourselves.
inline constexpr int kHelperSliceMs = 250;

}  // namespace ctprof
