// What the source of exited threads takes from the kernel: messages about threads that ended, and
// clocks.
//
// `Socket` listens to a running kernel. Tests replay messages that were recorded from one, so that
// all figures can be checked exactly (tests/recorded).
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plugins/shared/clock.hpp"
#include "plugins/taskstats/decode.hpp"

namespace ctprof::taskstats {

// Why there is no socket: an errno, and words.
struct Refused {
  int error = 0;
  std::string why;
};

class ExitInput : public Clocks {
 public:
  // Connects to the kernel. An error of 0: it is open; ENOENT: the kernel was built without
  // taskstats.
  virtual Refused open() = 0;
  // Has the kernel send the figures of threads that end on these CPUs ("0-7,12"). REQUIRES: open,
  // and nothing is asked any more.
  virtual Refused listen(const std::string& cpus) = 0;
  // What was sent until then still comes.
  virtual void stop_listening() = 0;
  // The number of generic netlink that messages have. REQUIRES: open.
  virtual std::uint16_t family() const = 0;
  // Messages about threads that ended and were not handed over yet, some at a time; none: no more
  // have come. Does not wait. They live until the next call.
  virtual std::span<const Bytes> exit_messages() = 0;
  // Threads that ended since listen(), and for which there was no room.
  virtual std::uint64_t lost() const = 0;
};

}  // namespace ctprof::taskstats
