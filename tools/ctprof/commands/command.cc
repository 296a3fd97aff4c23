#include "tools/ctprof/commands/command.hpp"

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

constexpr int kNotRun = 127;  // the exit status that a shell uses for a command that it cannot run

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
[[noreturn]] void wait_and_run(int go, int failed, int output, char* const* words) {
  char told = 0;
  if (::read(go, &told, 1) != 1) ::_exit(kNotRun);
  // Drops the capabilities first: even the search of PATH uses only the user's own privileges.
  if (!drop_privileges()) ::_exit(kNotRun);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  reset_signals();
  ::execvp(words[0], words);
  const int error = errno;
  [[maybe_unused]] const ssize_t size = ::write(failed, &error, sizeof error);
  ::_exit(kNotRun);
}

}  // namespace

Result<Command> Command::hold(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  auto go = make_pipe(), failed = make_pipe();
  if (!go) return go.error();
  if (!failed) return failed.error();
  Command command;
  command.name_ = words.front();
  command.pid_ = ::fork();
  if (command.pid_ < 0) return errno_error("running", command.name_, errno);
  if (command.pid_ == 0) {
    go->in.reset();
    wait_and_run(go->out.get(), failed->in.get(), output_fd(), arguments.data());
  }
  command.go_ = std::move(go->in);
  command.waits_ = std::move(go->out);
  command.failed_ = std::move(failed->out);
  command.ended_ = sdk::Fd(static_cast<int>(::syscall(SYS_pidfd_open, command.pid_, 0)));
  if (!command.ended_) return errno_error("watching the command", command.name_, errno);
  return command;
}

Result<void> Command::run() {
  const char go = 1;
  int error = 0;
  if (::write(go_.get(), &go, 1) != 1) return errno_error("running", name_, errno);
  go_.reset();
  // The pipe closes when execvp() succeeds, or when the process was killed before.
  if (::read(failed_.get(), &error, sizeof error) == sizeof error)
    return errno_error("running", name_, error);
  return {};
}

std::optional<int> Command::status() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

}  // namespace ctprof::cli
