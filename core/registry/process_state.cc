#include "core/registry/process_state.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace ctprof {
namespace {

// Returns the file mode mask of the process before plugins run. No call only reads it, so it is
// read once: a thread that reads it while another thread reads it would get the temporary value.
mode_t first_mask() {
  static const mode_t mask = [] {
    const mode_t found = ::umask(077);
    ::umask(found);
    return found;
  }();
  return mask;
}

sigset_t blocked_signals() {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return blocked;
}

std::string current_locale() {
  const char* name = ::setlocale(LC_ALL, nullptr);
  return name ? name : "C";
}

}  // namespace

KeptProcessState::KeptProcessState()
    : directory_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      mask_(first_mask()),
      blocked_(blocked_signals()),
      c_locale_(current_locale()) {}

// Restores the C++ locale first, because setting a named one also sets the C locale.
KeptProcessState::~KeptProcessState() {
  if (std::locale() != cpp_locale_) std::locale::global(cpp_locale_);
  if (current_locale() != c_locale_) ::setlocale(LC_ALL, c_locale_.c_str());
  ::umask(mask_);
  ::pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
  if (directory_ < 0) return;
  // If fchdir is refused, a plugin has changed the directory, and no better directory to return to
  // is known.
  [[maybe_unused]] const int moved = ::fchdir(directory_);
  ::close(directory_);
}

}  // namespace ctprof
