// The input of the source of exited threads: kernel messages about exited threads, and clocks.
//
// `Socket` listens to a running kernel. Tests replay recorded messages, so that all values can be
// checked exactly (tests/recorded).
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plugins/shared/clock.hpp"
#include "plugins/taskstats/decode.hpp"

namespace ctprof::taskstats {

// The reason why a socket operation failed: an errno, and a message. An errno of 0 means success.
struct SocketError {
  int error = 0;
  std::string message;
};

class ExitInput : public Clocks {
 public:
  // Connects to the kernel. An error of 0 means success, ENOENT that the kernel was built without
  // taskstats.
  virtual SocketError open() = 0;
  // Makes the kernel send the values of threads that exit on these CPUs ("0-7,12"). REQUIRES:
  // open() succeeded, and no further requests for threads are sent.
  virtual SocketError listen(const std::string& cpus) = 0;
  // Stops listening. Messages that were sent before still arrive.
  virtual void stop_listening() = 0;
  // Returns the generic netlink number of messages. REQUIRES: open.
  virtual std::uint16_t family() const = 0;
  // Returns the next messages about exited threads, a few at a time; empty if there are no more.
  // Does not wait. They are valid until the next call.
  virtual std::span<const Bytes> receive_exit_messages() = 0;
  // Returns the number of threads that exited since listen() and whose message did not fit into the
  // buffer.
  virtual std::uint64_t lost_count() const = 0;
};

}  // namespace ctprof::taskstats
