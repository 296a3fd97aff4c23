// Restores what a plugin can change for the whole process: working directory, locale, file mode
// mask; and for the calling thread the signals it blocks, without which neither a time limit nor
// Ctrl-C would reach it.
//
//   const KeptProcessState kept;
//   ...                              // call into a plugin
//
// While this object lives, the calling thread uses the C locale, so that numbers are read and
// written alike whatever a plugin sets. Other threads see a plugin's changes until the object is
// destroyed.

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
  int directory_;  // -1 where it cannot be opened
  mode_t mask_;
  sigset_t blocked_;
  std::string c_locale_;  // setlocale's word for it
  std::locale cpp_locale_;
  CLocale thread_locale_;
};

}  // namespace ctprof
