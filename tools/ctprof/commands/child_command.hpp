// The command whose run a recording covers. It is started and waited for, never killed.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {

class ChildCommand {
 public:
  // Forks the process of the command, which waits for run(). REQUIRES: the calling process has one
  // thread.
  static Result<ChildCommand> fork_waiting(std::vector<std::string> words);
  // Executes the command, found through PATH, with ctprof's standard input, output and error, and
  // in ctprof's process group, so that signals from the terminal reach it too. Signals that ctprof
  // blocks or ignores are unblocked and reset to their default action. Fails if the command cannot
  // be executed. If run() is never called, the process exits when this object is destroyed.
  Result<void> run();

  pid_t pid() const { return pid_; }
  // A pidfd that becomes readable for poll(2) when the command exits. This object owns it.
  int exit_fd() const { return pidfd_.get(); }
  // Returns the exit status as a shell reports it: 128 plus the signal number if a signal killed
  // the command. Returns none while it runs.
  std::optional<int> status();

 private:
  std::string name_;
  pid_t pid_ = 0;
  sdk::Fd pidfd_;
  // Write end: one byte starts the command; closing it makes the process exit.
  sdk::Fd start_writer_;
  sdk::Fd start_reader_;  // read end, kept open so that a write after the child's exit does not
                          // raise SIGPIPE
  sdk::Fd error_reader_;  // read end: receives errno if the command cannot be executed
  std::optional<int> status_;
};

}  // namespace ctprof::cli
