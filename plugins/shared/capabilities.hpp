// Which capabilities this process has.

#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <initializer_list>

namespace ctprof {

// Whether all of them are effective; `unknown` when that cannot be found out.
inline bool has_capabilities(std::initializer_list<unsigned> capabilities, bool unknown = false) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return unknown;
  for (const unsigned capability : capabilities)
    if ((sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) == 0) return false;
  return true;
}

}  // namespace ctprof
