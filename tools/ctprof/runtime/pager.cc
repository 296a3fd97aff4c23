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

constexpr const char* kForShells = "|&;<>()$`\\\"' \t\n*?[#~=%";

// Returns an empty string for no pager.
std::string pager_of_environment() {
  for (const char* name : {"CTPROF_PAGER", "PAGER"})
    if (const char* pager = std::getenv(name)) return std::string_view(pager) == "cat" ? "" : pager;
  return "less";
}

// Blocks signals of the terminal, and SIGPIPE from a pager that was quit, while it exists. Thus
// nothing ends ctprof before the pager has released the terminal.
class HeldSignals {
 public:
  HeldSignals() {
    const sigset_t held = signal_set({SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGHUP});
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() {
    const sigset_t for_pager = signal_set({SIGINT, SIGQUIT, SIGPIPE});
    const timespec now{};
    while (::sigtimedwait(&for_pager, nullptr, &now) > 0) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& before() const { return before_; }
  static bool was_interrupted() {
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGINT) == 1;
  }

 private:
  sigset_t before_;
};

// Starts the pager on ctprof's terminal, with `input` as its standard input. Returns none on
// failure.
std::optional<pid_t> start(std::string pager, int input, const sigset_t& signals) {
  ::setenv("LESS", "FRX", 0);
  ::setenv("LV", "-c", 0);
  std::string shell = "sh", option = "-c";
  const bool by_shell = pager.find_first_of(kForShells) != pager.npos;
  char* plain[] = {pager.data(), nullptr};
  char* shelled[] = {shell.data(), option.data(), pager.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output_fd(), STDOUT_FILENO);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char** words = by_shell ? shelled : plain;
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, words[0], &files, &attributes, words, environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return failed == 0 ? std::optional(pid) : std::nullopt;
}

bool ended_well(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status == 0;
}

// Returns whether the pager showed the text, or as much of it as the user wanted to see.
bool show_by(std::string pager, std::string_view text) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  sdk::Fd out(ends[0]), in(ends[1]);
  const HeldSignals held;
  const auto pid = start(std::move(pager), out.get(), held.before());
  if (!pid) return false;
  out.reset();
  write_all(in.get(), text);  // a pager that was quit reads no more
  in.reset();
  return ended_well(*pid) || HeldSignals::was_interrupted();
}

}  // namespace

int page(const Options& options, std::string_view text) {
  const bool may = options.pager && !runs_privileged() && ::isatty(output_fd()) == 1;
  const std::string pager = may ? pager_of_environment() : "";
  return !pager.empty() && show_by(pager, text) ? kFine : print(text);
}

}  // namespace ctprof::cli
