// The command whose life a recording is about: started, waited for, never killed.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {

class Command {
 public:
  // Starts `words`, found by PATH, with our standard input, output and error, in our process group,
  // so that what the terminal signals reaches it too. The signals that ctprof blocks are not
  // blocked there. Fails where it cannot be run.
  static Result<Command> start(const std::vector<std::string>& words);

  pid_t pid() const { return pid_; }
  // Becomes readable when it has ended, for poll(2); it stays the command's.
  int ended_fd() const { return ended_.get(); }
  // The status that it ended with, as a shell has it: 128 and the number of the signal that killed
  // it. None while it runs.
  std::optional<int> status();

 private:
  Command(pid_t pid, int ended) : pid_(pid), ended_(ended) {}

  pid_t pid_;
  sdk::Fd ended_;
  std::optional<int> status_;
};

}  // namespace ctprof::cli
