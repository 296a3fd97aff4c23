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
#include "plugins/taskstats/exit_input.hpp"

namespace ctprof::taskstats {

// One per worker. Answers live until the next question.
class Socket final : public ExitInput {
 public:
  static constexpr std::size_t kMostAtOnce = 64;

  Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  Refused open() override;

  // One answer for each of at most kMostAtOnce threads, in their order. Their errors are the
  // kernel's, or
  //   ETIMEDOUT  no answer came
  //   EMSGSIZE   it did not fit; a thread that is asked for alone has ample room
  //   EBADMSG    it cannot be understood, or is about another thread
  //
  // Throws std::runtime_error when requests could not be sent, or none of them was answered within
  // a second.
  std::span<const Answer> ask(std::span<const std::uint64_t> tids);

  // When the kernel answered what was asked last, on CLOCK_BOOTTIME.
  std::uint64_t answered_ns() const { return answered_ns_; }

  Refused listen(const std::string& cpus) override;
  void stop_listening() override;
  std::uint16_t family() const override { return family_; }
  // At most kMostAtOnce.
  std::span<const Bytes> exit_messages() override;
  std::uint64_t lost() const override;

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
  std::array<Bytes, kMostAtOnce> exits_{};
  std::string listens_to_;
};

}  // namespace ctprof::taskstats
