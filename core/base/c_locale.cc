#include "core/base/c_locale.hpp"

namespace ctprof {
namespace {

// glibc has one C locale for all; nothing is allocated, and nothing is to be freed.
locale_t c_locale() {
  static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", locale_t{});
  return locale;
}

}  // namespace

CLocale::CLocale() : before_(::uselocale(c_locale())) {}
CLocale::~CLocale() { ::uselocale(before_); }

}  // namespace ctprof
