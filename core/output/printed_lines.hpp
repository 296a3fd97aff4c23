// The lines that the process of an output plugin prints, read from a pipe.
//
// The process has no descriptor of ctprof's standard error. A file there, such as the log of a
// service, could be read and truncated through it, and a terminal obeys escape sequences.
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctprof/files.hpp"

namespace ctprof {

class PrintedLines {
 public:
  static constexpr std::size_t kMaxLines = 100;       // of a process; the rest is dropped
  static constexpr std::size_t kMaxLineBytes = 1000;  // a longer line is truncated

  PrintedLines() = default;
  // `fd`: the end of the pipe to read from.
  explicit PrintedLines(sdk::Fd fd);

  // For poll(2); -1: the pipe has ended.
  int descriptor() const { return fd_ ? fd_.get() : -1; }
  // Reads what has arrived, but not endlessly. Does not wait.
  void receive();
  // Ends the pipe. An incomplete last line becomes a line.
  void end();
  // Returns new lines.
  std::vector<std::string> take() { return std::exchange(lines_, {}); }

 private:
  void add_bytes(std::string_view bytes);
  void end_line();

  sdk::Fd fd_;
  std::string line_;  // without its end
  std::vector<std::string> lines_;
  std::size_t count_ = 0;
};

}  // namespace ctprof
