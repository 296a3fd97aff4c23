#include "tools/ctprof/command.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

// How posix_spawn is to start it; owners of what POSIX wants destroyed.
struct Actions {
  Actions() { ::posix_spawn_file_actions_init(&value); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&value); }
  posix_spawn_file_actions_t value;
};
struct Attributes {
  Attributes() { ::posix_spawnattr_init(&value); }
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
  posix_spawnattr_t value;
};

}  // namespace

Result<Command> Command::start(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Actions actions;
  if (output_fd() >= 0)
    ::posix_spawn_file_actions_adddup2(&actions.value, output_fd(), STDOUT_FILENO);
  Attributes attributes;
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes.value, &none);
  ::posix_spawnattr_setsigdefault(&attributes.value, &all);
  ::posix_spawnattr_setflags(&attributes.value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  if (const int failed = ::posix_spawnp(&pid, words.front().c_str(), &actions.value,
                                        &attributes.value, arguments.data(), environ))
    return errno_error("running", words.front(), failed);
  const long ended = ::syscall(SYS_pidfd_open, pid, 0);
  if (ended < 0) return errno_error("watching the command", words.front(), errno);
  return Command(pid, static_cast<int>(ended));
}

std::optional<int> Command::status() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

}  // namespace ctprof::cli
