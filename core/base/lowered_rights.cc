#include "core/base/lowered_rights.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

namespace ctprof {
namespace {

using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

bool call_for_capabilities(long number, CapabilitySets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(number, &header, sets.data()) == 0;
}

}  // namespace

LoweredRights::LoweredRights(bool lowers) {
  static_assert(sizeof effective_ == _LINUX_CAPABILITY_U32S_3 * sizeof effective_[0]);
  if (!lowers) return;
  CapabilitySets sets{};
  is_as_wanted_ = call_for_capabilities(SYS_capget, sets);
  for (std::size_t word = 0; word < sets.size(); ++word)
    effective_[word] = std::exchange(sets[word].effective, 0);
  is_as_wanted_ = is_lowered_ = is_as_wanted_ && call_for_capabilities(SYS_capset, sets);
}

LoweredRights::~LoweredRights() {
  CapabilitySets sets{};
  if (!is_lowered_ || !call_for_capabilities(SYS_capget, sets)) return;
  for (std::size_t word = 0; word < sets.size(); ++word) sets[word].effective = effective_[word];
  call_for_capabilities(SYS_capset, sets);
}

}  // namespace ctprof
