// Restores the state of the process that a plugin can change: working directory, locale and file
// mode mask, and, for the calling thread, the blocked signals. If signals stayed blocked, neither a
// time limit nor Ctrl-C would reach the thread.
//
//   const KeptProcessState kept;
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

class KeptProcessState {
 public:
  KeptProcessState();
  ~KeptProcessState();
  KeptProcessState(const KeptProcessState&) = delete;
  KeptProcessState& operator=(const KeptProcessState&) = delete;

 private:
  int directory_;  // -1 if it cannot be opened
  mode_t mask_;
  sigset_t blocked_;
  std::string c_locale_;  // as returned by setlocale
  std::locale cpp_locale_;
  CLocale thread_locale_;
};

}  // namespace ctprof
