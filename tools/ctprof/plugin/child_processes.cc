#include "tools/ctprof/plugin/child_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>

#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kEndTimeout{5};

// The kernel does not reuse the id of a child before it is waited for.
void kill_children() {
  sdk::TextFile file;
  const auto text = file.read_records(AT_FDCWD, "/proc/thread-self/children");
  std::string_view rest = text ? text.value : std::string_view();
  while (!rest.empty())
    if (const auto child = sdk::number<int>(sdk::take(rest, ' '))) ::kill(child.value, SIGKILL);
}

// Returns whether there are other children.
bool reap_children(::pid_t child, int& status) {
  int child_status = 0;
  ::pid_t reaped = 0;
  while ((reaped = ::waitpid(-1, &child_status, WNOHANG)) > 0)
    if (reaped == child) status = child_status;
  return reaped == 0;
}

}  // namespace

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool end_children(::pid_t child, int& status) {
  const auto deadline = Clock::now() + kEndTimeout;
  while (reap_children(child, status)) {
    if (Clock::now() > deadline) return false;
    kill_children();
    ::poll(nullptr, 0, 1);
  }
  return true;
}

}  // namespace ctprof::cli
