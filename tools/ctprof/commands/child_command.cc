#include "tools/ctprof/commands/child_command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

// The exit status that a shell uses for a command that it cannot run.
constexpr int kExitNotRun = 127;

struct Pipe {
  sdk::Fd out, in;  // data written to `in` is read from `out`
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("making", "a pipe", errno);
  return Pipe{sdk::Fd(ends[0]), sdk::Fd(ends[1])};
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child from fork() until execvp() replaces the process with the command.
[[noreturn]] void wait_and_run(int start_fd, int error_fd, int output, char* const* words) {
  char start_byte = 0;
  if (::read(start_fd, &start_byte, 1) != 1) ::_exit(kExitNotRun);
  // Drops the capabilities first: even the search of PATH uses only the user's own privileges.
  if (!drop_privileges()) ::_exit(kExitNotRun);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  reset_signals();
  ::execvp(words[0], words);
  const int error = errno;
  [[maybe_unused]] const ssize_t size = ::write(error_fd, &error, sizeof error);
  ::_exit(kExitNotRun);
}

}  // namespace

Result<ChildCommand> ChildCommand::fork_waiting(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  CTPROF_TRY_VALUE(auto start_pipe, make_pipe());
  CTPROF_TRY_VALUE(auto error_pipe, make_pipe());
  ChildCommand command;
  command.name_ = words.front();
  command.pid_ = ::fork();
  if (command.pid_ < 0) return errno_error("running", command.name_, errno);
  if (command.pid_ == 0) {
    start_pipe.in.reset();
    wait_and_run(start_pipe.out.get(), error_pipe.in.get(), output_fd(), arguments.data());
  }
  command.start_writer_ = std::move(start_pipe.in);
  command.start_reader_ = std::move(start_pipe.out);
  command.error_reader_ = std::move(error_pipe.out);
  command.pidfd_ = sdk::Fd(static_cast<int>(::syscall(SYS_pidfd_open, command.pid_, 0)));
  if (!command.pidfd_) return errno_error("watching the command", command.name_, errno);
  return command;
}

Result<void> ChildCommand::run() {
  const char start_byte = 1;
  int error = 0;
  if (::write(start_writer_.get(), &start_byte, 1) != 1)
    return errno_error("running", name_, errno);
  start_writer_.reset();
  // The pipe closes when execvp() succeeds, or when the process was killed before.
  if (::read(error_reader_.get(), &error, sizeof error) == sizeof error)
    return errno_error("running", name_, error);
  return {};
}

std::optional<int> ChildCommand::status() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

}  // namespace ctprof::cli
