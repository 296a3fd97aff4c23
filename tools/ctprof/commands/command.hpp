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
  // Makes the process of the command, which waits for run(). REQUIRES: we are one thread.
  static Result<Command> hold(std::vector<std::string> words);
  // Runs it, found by PATH, with our standard input, output and error, in our process group, so
  // that what the terminal signals reaches it too. The signals that ctprof blocks or ignores are
  // not blocked or ignored there. Fails where it cannot be run. Without this call the process ends
  // when this object does.
  Result<void> run();

  pid_t pid() const { return pid_; }
  // Becomes readable when it has ended, for poll(2); it stays the command's.
  int ended_fd() const { return ended_.get(); }
  // The status that it ended with, as a shell has it: 128 and the number of the signal that killed
  // it. None while it runs.
  std::optional<int> status();

 private:
  std::string name_;
  pid_t pid_ = 0;
  sdk::Fd ended_;
  sdk::Fd go_;      // a byte lets it run; that this closes ends it
  sdk::Fd waits_;   // the other end, so that we may write when nobody reads any more
  sdk::Fd failed_;  // it says an errno here, where it cannot
  std::optional<int> status_;
};

}  // namespace ctprof::cli
