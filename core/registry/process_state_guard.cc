#include "core/registry/process_state_guard.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace ctprof {
namespace {

// Returns the file mode mask of the process before plugins run. No call only reads it, so it is
// read once: a thread that reads it while another thread reads it would get the temporary value.
mode_t initial_file_mode_mask() {
  static const mode_t mask = [] {
    const mode_t old_mask = ::umask(077);
    ::umask(old_mask);
    return old_mask;
  }();
  return mask;
}

sigset_t current_signal_mask() {
  sigset_t signal_mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &signal_mask);
  return signal_mask;
}

std::string current_locale() {
  const char* name = ::setlocale(LC_ALL, nullptr);
  return name ? name : "C";
}

}  // namespace

ProcessStateGuard::ProcessStateGuard()
    : directory_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      file_mode_mask_(initial_file_mode_mask()),
      signal_mask_(current_signal_mask()),
      c_locale_(current_locale()) {}

// Restores the C++ locale first, because setting a named one also sets the C locale.
ProcessStateGuard::~ProcessStateGuard() {
  if (std::locale() != cpp_locale_) std::locale::global(cpp_locale_);
  if (current_locale() != c_locale_) ::setlocale(LC_ALL, c_locale_.c_str());
  ::umask(file_mode_mask_);
  ::pthread_sigmask(SIG_SETMASK, &signal_mask_, nullptr);
  if (directory_ < 0) return;
  // If fchdir fails, the directory that the plugin set remains, because no other one is known.
  [[maybe_unused]] const int result = ::fchdir(directory_);
  ::close(directory_);
}

}  // namespace ctprof
