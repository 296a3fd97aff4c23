// A generic netlink socket that asks the kernel for the taskstats of threads, many at a time, or is
// sent those of threads that end.
//
// Requests are sent together, and the kernel answers them before that call returns; the answers are
// then received together. Asking one by one takes half as much time again. An answer may still be
// missing: the buffer was full, or too small for the struct of a future kernel.
//
// The kernel sends the last figures of threads to each socket that registered, one by one, so two
// do not disturb each other; and it forgets a socket that was closed. What finds no room in a
// socket's buffer is dropped, and counted.
//
// What is here:   opening, asking, listening.
// What is not:    what answers hold (decode.hpp), who asks again (taskstats.cc).

#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "ctprof/files.hpp"
#include "plugins/taskstats/decode.hpp"

namespace ctprof::taskstats {

// Why there is no socket: an errno, and words.
struct Refused {
  int error = 0;
  std::string why;
};

// One per worker. Answers live until the next question.
class Socket {
 public:
  static constexpr std::size_t kMostAtOnce = 64;

  Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Connects to the kernel. An error of 0: it is open; ENOENT: the kernel was built without
  // taskstats.
  Refused open();

  // One answer for each of at most kMostAtOnce threads, in their order. Their errors are the
  // kernel's, or
  //   ETIMEDOUT  no answer came
  //   EMSGSIZE   it did not fit; a thread that is asked for alone has ample room
  //   EBADMSG    it cannot be understood, or is about another thread
  //
  // Throws std::runtime_error when requests could not be sent, or none of them was answered within
  // a second.
  std::span<const Answer> ask(std::span<const std::uint64_t> tids);

  // Has the kernel send the figures of threads that end on these CPUs ("0-7,12"). REQUIRES: open,
  // and nothing is asked any more.
  Refused listen(const std::string& cpus);
  // What was sent until then still comes.
  void stop_listening();
  // When the kernel answered what was asked last, on CLOCK_BOOTTIME.
  std::uint64_t answered_ns() const { return answered_ns_; }
  // Threads that ended and were not handed over yet, at most kMostAtOnce; none: no more have come.
  // Does not wait. They live until the next call. A message that cannot be understood is a thread
  // with the id 0.
  std::span<const Exit> exits();
  // Threads that ended since listen(), and for which there was no room.
  std::uint64_t lost() const;

 private:
  int tell(std::uint16_t attribute, const std::string& cpus, std::uint16_t flags);
  int acknowledged(std::uint32_t sequence);
  void send(std::span<const std::uint64_t> tids);
  void receive(std::size_t count);
  std::size_t take(std::size_t first, std::size_t got, std::size_t count);
  void forget_leftovers();

  std::uint16_t family_ = 0;
  std::uint32_t first_sequence_ = 0;  // of the question under way
  std::uint32_t next_sequence_ = 1;
  bool all_came_ = true;  // of the last question's answers
  sdk::Fd socket_;
  std::unique_ptr<std::byte[]> room_;  // touched as answers fill it
  std::uint64_t answered_ns_ = 0;
  std::array<iovec, kMostAtOnce> pieces_{};
  std::array<mmsghdr, kMostAtOnce> headers_{};
  std::array<Answer, kMostAtOnce> answers_{};
  std::array<Exit, kMostAtOnce> exits_{};
  std::string listens_to_;
};

}  // namespace ctprof::taskstats
