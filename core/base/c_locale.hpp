// The calling thread's locale is C as long as this lives, whatever the process's is set to, so that
// figures are read and written the same.

#pragma once

#include <locale.h>

namespace ctprof {

class CLocale {
 public:
  CLocale();
  ~CLocale();
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  locale_t before_;
};

}  // namespace ctprof
