// What a plugin can change of the whole process, kept and put back: working directory, locale and file mode mask.
//
//   const KeptProcessState kept;
//   ...                              // code of a plugin
//
// The calling thread has the C locale meanwhile, so that figures are written and read the same whatever a plugin sets.
// Threads that run beside it are not held back: a change lasts for them until the object ends.

#pragma once

#include <locale.h>
#include <sys/stat.h>

#include <locale>
#include <string>

namespace ctprof {

// The calling thread's locale is C as long as this lives, whatever the process's is set to.
class CLocale {
 public:
  CLocale();
  ~CLocale();
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  locale_t before_;
};

class KeptProcessState {
 public:
  KeptProcessState();
  ~KeptProcessState();
  KeptProcessState(const KeptProcessState&) = delete;
  KeptProcessState& operator=(const KeptProcessState&) = delete;

 private:
  int directory_;  // -1 where it cannot be opened
  mode_t mask_;
  std::string c_locale_;  // setlocale's word for it
  std::locale cpp_locale_;
  CLocale thread_locale_;
};

}  // namespace ctprof
