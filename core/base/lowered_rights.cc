#include "core/base/lowered_rights.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <tuple>

namespace ctprof {
namespace {

using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;
static_assert(std::tuple_size_v<CapabilityWords> == std::tuple_size_v<CapabilitySets>);

bool call_for_capabilities(long number, CapabilitySets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(number, &header, sets.data()) == 0;
}

}  // namespace

std::optional<CapabilityWords> effective_capabilities() {
  CapabilitySets sets{};
  if (!call_for_capabilities(SYS_capget, sets)) return std::nullopt;
  CapabilityWords words{};
  for (std::size_t word = 0; word < sets.size(); ++word) words[word] = sets[word].effective;
  return words;
}

bool set_effective_capabilities(const CapabilityWords& words) {
  CapabilitySets sets{};
  if (!call_for_capabilities(SYS_capget, sets)) return false;
  for (std::size_t word = 0; word < sets.size(); ++word) sets[word].effective = words[word];
  return call_for_capabilities(SYS_capset, sets);
}

LoweredRights::LoweredRights(bool lowers) {
  if (!lowers) return;
  lowered_ = effective_capabilities();
  is_as_wanted_ = lowered_ && set_effective_capabilities({});
  if (!is_as_wanted_) lowered_.reset();
}

LoweredRights::~LoweredRights() {
  if (lowered_) set_effective_capabilities(*lowered_);
}

}  // namespace ctprof
