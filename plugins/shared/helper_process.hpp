// A process of ours for what may hang: reading files and memory of others, behind which a server
// may have stopped to answer.
//
// A thread that hangs in the kernel holds up the end of its process, and a descriptor that it holds
// keeps whoever reads our output waiting; so it is a process, forked without exec (capabilities of
// a file would not survive one). It has no descriptor of ours but a socket, the signal handling of
// a fresh process, a session of its own, few capabilities and limits, and it ends with us. Requests
// and answers are in memory that both share; what the helper leaves there is checked like what a
// stranger says, for a hostile file may have taken it over.
//
// One that does not answer is killed and left: it may not even die. It is nobody's to wait for.
//
// What is here:   making it, asking it, getting rid of it.
// What is not:    what is asked (whoever uses it), and what becomes of what was not answered.

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
      steps;  // to be raised with each thing done: whoever is busy is waited for
};

struct HelperLimits {
  unsigned cpu_seconds;       // of its whole life
  std::uint64_t more_memory;  // beyond what we have when it is made
  bool busy_is_alive;         // whether using a processor counts as a step
};

// Used by one thread at a time.
class HelperProcess {
 public:
  using Serve = std::function<void()>;
  // Runs in the helper, once; what it returns answers one request at a time.
  using Begin = std::function<Serve(const HelperView&)>;

  // `proc` is the open directory /proc. Does not wait until the helper is there.
  HelperProcess(int proc, std::size_t area_size, const HelperLimits& limits, Begin begin);
  // Kills it, and does not wait: the thread that made it does, and collects it.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // 0, or why there is none, an errno. Waits until the helper has said that it can be asked, or
  // could not be made.
  int error();
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
