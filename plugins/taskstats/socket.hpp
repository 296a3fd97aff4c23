// A generic netlink socket that requests the taskstats of threads, many at a time, or receives
// those of exited threads.
//
// Requests are sent together, and the kernel answers them before the call returns; the answers are
// then received together. Single requests take half as much time again. An answer may be missing:
// the buffer was full, or too small for the struct of a future kernel.
//
// The kernel sends the last values of exited threads to each registered socket separately, so two
// sockets do not disturb each other. It drops a socket that was closed. Messages that do not fit
// into a socket's buffer are dropped and counted.
//
// See also: decode.hpp for the contents of answers, taskstats.cc for repeated requests.

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

// Each worker has one object. Answers are valid until the next request.
class Socket final : public ExitInput {
 public:
  static constexpr std::size_t kMaxRequests = 64;

  Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  SocketError open() override;

  // Returns one answer for each of at most kMaxRequests threads, in their order. Their errors are
  // the kernel's, or
  //   ETIMEDOUT  no answer arrived
  //   EMSGSIZE   it did not fit; the request of a single thread has ample space
  //   EBADMSG    it cannot be parsed, or is about another thread
  //
  // Throws std::runtime_error if requests could not be sent, or none of them was answered within a
  // second.
  std::span<const Answer> request_threads(std::span<const std::uint64_t> tids);

  // Returns the time when the kernel answered the last request, on CLOCK_BOOTTIME.
  std::uint64_t last_answer_ns() const { return last_answer_ns_; }

  SocketError listen(const std::string& cpus) override;
  void stop_listening() override;
  std::uint16_t family() const override { return family_; }
  // Returns at most kMaxRequests messages.
  std::span<const Bytes> receive_exit_messages() override;
  std::uint64_t lost_count() const override;

 private:
  int send_cpu_request(std::uint16_t attribute, const std::string& cpus, std::uint16_t flags);
  int receive_acknowledgement(std::uint32_t sequence);
  void send(std::span<const std::uint64_t> tids);
  void receive(std::size_t count);
  std::size_t match_answers(std::size_t first, std::size_t message_count, std::size_t count);
  void drop_stale_answers();

  std::uint16_t family_ = 0;
  std::uint32_t first_sequence_ = 0;  // of the current request
  std::uint32_t next_sequence_ = 1;
  bool all_answers_arrived_ = true;  // whether all answers to the last request arrived
  sdk::Fd socket_;
  std::unique_ptr<std::byte[]> buffer_;  // its pages are touched only as answers fill it
  std::uint64_t last_answer_ns_ = 0;
  std::array<iovec, kMaxRequests> iovecs_{};
  std::array<mmsghdr, kMaxRequests> headers_{};
  std::array<Answer, kMaxRequests> answers_{};
  std::array<Bytes, kMaxRequests> exit_messages_{};
  std::string listened_cpus_;
};

}  // namespace ctprof::taskstats
