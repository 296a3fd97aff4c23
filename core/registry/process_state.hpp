// What a plugin can change of all of us, kept and put back: working directory, locale, file mode
// mask, and which signals the calling thread blocks, without which neither a time limit nor Ctrl-C
// would reach it.
//
//   const KeptProcessState kept;
//   ...                              // code of a plugin
//
// The calling thread has the C locale meanwhile, so that figures are written and read the same
// whatever a plugin sets. Threads that run beside it are not held back: a change lasts for them
// until the object ends.

#pragma once

#include <locale.h>
#include <signal.h>
#include <sys/stat.h>

#include <locale>
#include <string>

#include "core/base/c_locale.hpp"

namespace ctprof {

class KeptProcessState {
 public:
  KeptProcessState();
  ~KeptProcessState();
  KeptProcessState(const KeptProcessState&) = delete;
  KeptProcessState& operator=(const KeptProcessState&) = delete;

 private:
  int directory_;  // -1 where it cannot be opened
  mode_t mask_;
  sigset_t blocked_;
  std::string c_locale_;  // setlocale's word for it
  std::locale cpp_locale_;
  CLocale thread_locale_;
};

}  // namespace ctprof
