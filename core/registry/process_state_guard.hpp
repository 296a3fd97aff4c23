// Restores the state of the process that a plugin can change: working directory, locale and file
// mode mask, and, for the calling thread, the blocked signals. If signals stayed blocked, neither a
// time limit nor Ctrl-C would reach the thread.
//
//   const ProcessStateGuard kept;
//   ...                              // call into a plugin
//
// While this object exists, the calling thread uses the C locale, so that the format of numbers
// does not depend on a plugin. Other threads see a plugin's changes until the object is destroyed.

#pragma once

#include <locale.h>
#include <signal.h>
#include <sys/stat.h>

#include <locale>
#include <string>

#include "core/base/workers.hpp"

namespace ctprof {

class ProcessStateGuard {
 public:
  ProcessStateGuard();
  ~ProcessStateGuard();
  ProcessStateGuard(const ProcessStateGuard&) = delete;
  ProcessStateGuard& operator=(const ProcessStateGuard&) = delete;

 private:
  int directory_;  // -1 if it cannot be opened
  mode_t file_mode_mask_;
  sigset_t signal_mask_;
  std::string c_locale_;  // as returned by setlocale
  std::locale cpp_locale_;
  CLocale thread_locale_;
};

}  // namespace ctprof
