#include "tools/ctprof/runtime/pager.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "core/registry/loader.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/signals.hpp"

namespace ctprof::cli {
namespace {

constexpr const char* kShellCharacters = "|&;<>()$`\\\"' \t\n*?[#~=%";

// Returns an empty string for no pager.
std::string pager_of_environment() {
  for (const char* name : {"CTPROF_PAGER", "PAGER"})
    if (const char* pager = std::getenv(name)) return std::string_view(pager) == "cat" ? "" : pager;
  return "less";
}

// Blocks signals of the terminal, and SIGPIPE from a pager that was quit, while it exists. Thus
// nothing ends ctprof before the pager has released the terminal.
class BlockedSignals {
 public:
  BlockedSignals() {
    const sigset_t blocked = signal_set({SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGHUP});
    ::pthread_sigmask(SIG_BLOCK, &blocked, &old_mask_);
  }
  ~BlockedSignals() {
    const sigset_t for_pager = signal_set({SIGINT, SIGQUIT, SIGPIPE});
    const timespec now{};
    while (::sigtimedwait(&for_pager, nullptr, &now) > 0) continue;
    ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  const sigset_t& old_mask() const { return old_mask_; }
  static bool was_interrupted() {
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGINT) == 1;
  }

 private:
  sigset_t old_mask_;
};

// Starts the pager on ctprof's terminal, with `input` as its standard input. Returns none on
// failure.
std::optional<pid_t> start_pager(std::string pager, int input, const sigset_t& signals) {
  ::setenv("LESS", "FRX", 0);
  ::setenv("LV", "-c", 0);
  std::string shell = "sh", option = "-c";
  const bool by_shell = pager.find_first_of(kShellCharacters) != pager.npos;
  char* plain_words[] = {pager.data(), nullptr};
  char* shell_words[] = {shell.data(), option.data(), pager.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output_fd(), STDOUT_FILENO);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char** words = by_shell ? shell_words : plain_words;
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, words[0], &files, &attributes, words, environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return failed == 0 ? std::optional(pid) : std::nullopt;
}

bool exited_successfully(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status == 0;
}

// Returns whether the pager showed the text, or as much of it as the user wanted to see.
bool show_in_pager(std::string pager, std::string_view text) {
  int pipe_fds[2];
  if (::pipe2(pipe_fds, O_CLOEXEC) != 0) return false;
  sdk::Fd out(pipe_fds[0]), in(pipe_fds[1]);
  const BlockedSignals blocked;
  const auto pid = start_pager(std::move(pager), out.get(), blocked.old_mask());
  if (!pid) return false;
  out.reset();
  write_all(in.get(), text);  // a pager that was quit reads no more
  in.reset();
  return exited_successfully(*pid) || BlockedSignals::was_interrupted();
}

}  // namespace

int print_paged(const CommonOptions& options, std::string_view text) {
  const bool may_page = options.pager && !runs_privileged() && ::isatty(output_fd()) == 1;
  const std::string pager = may_page ? pager_of_environment() : "";
  return !pager.empty() && show_in_pager(pager, text) ? kSuccess : print(text);
}

}  // namespace ctprof::cli
