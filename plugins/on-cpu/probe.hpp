// Whether this host can be sampled, and what it lacks.

#pragma once

#include <cstdint>
#include <string>

#include "ctprof/host.hpp"
#include "ctprof/records.hpp"

namespace ctprof::on_cpu {

// Why the kernel does not open an event for a CPU, and what would change that.
struct Refusal {
  Gap gap;
  std::string why;
  sdk::Remedy remedy;
};
Refusal refusal(const sdk::Host& host, int error);
// Why the kernel does not take the filter for a user with lent rights (own_filter.hpp).
Refusal refusal_of_filter(int error);

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

// How many frames the kernel is to follow so that a stack of the depth that the window requests can
// be distinguished from a deeper one. `deepest`: of deepest_chain(). Copies of user stacks are not
// bound by it. Throws std::runtime_error where frame pointers are to be followed further than that.
std::uint32_t chain_depth(const sdk::Window& window, std::uint32_t deepest);

// How many bytes of a user stack to copy; 0: the kernel follows frame pointers. `walks`: whether
// only those stacks are copied that the kernel does not walk, which are few.
std::uint32_t copied_bytes(const sdk::Window& window, std::uint64_t frequency_hz, bool walks);

}  // namespace ctprof::on_cpu
