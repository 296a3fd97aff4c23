#include "core/base/dropped_capabilities.hpp"

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

bool call_capability_syscall(long number, CapabilitySets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(number, &header, sets.data()) == 0;
}

}  // namespace

std::optional<CapabilityWords> effective_capabilities() {
  CapabilitySets sets{};
  if (!call_capability_syscall(SYS_capget, sets)) return std::nullopt;
  CapabilityWords words{};
  for (std::size_t word = 0; word < sets.size(); ++word) words[word] = sets[word].effective;
  return words;
}

bool set_effective_capabilities(const CapabilityWords& words) {
  CapabilitySets sets{};
  if (!call_capability_syscall(SYS_capget, sets)) return false;
  for (std::size_t word = 0; word < sets.size(); ++word) sets[word].effective = words[word];
  return call_capability_syscall(SYS_capset, sets);
}

bool drop_all_capabilities() {
  CapabilitySets none{};
  return call_capability_syscall(SYS_capset, none);
}

DroppedCapabilities::DroppedCapabilities(bool is_enabled) {
  if (!is_enabled) return;
  previous_ = effective_capabilities();
  is_successful_ = previous_ && set_effective_capabilities({});
  if (!is_successful_) previous_.reset();
}

DroppedCapabilities::~DroppedCapabilities() {
  if (previous_) set_effective_capabilities(*previous_);
}

}  // namespace ctprof
