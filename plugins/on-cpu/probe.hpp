// Determines whether this host can be sampled, and what it lacks.

#pragma once

#include <cstdint>
#include <string>

#include "ctprof/host.hpp"
#include "ctprof/records.hpp"

namespace ctprof::on_cpu {

// The reason why the kernel does not open an event for a CPU, with the remedy.
struct Refusal {
  Gap gap;
  std::string reason;
  sdk::Remedy remedy;
};
Refusal explain_refusal(const sdk::Host& host, int error);
// Explains why the kernel refuses the filter for a user of an executable with file capabilities
// (own_process_filter.hpp).
Refusal explain_filter_refusal(int error);

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

// Returns how many frames the kernel must record so that a stack of the requested depth can be
// distinguished from a deeper one. `max_depth` is the result of max_stack_depth(). Copies of user
// stacks are not limited by it. Throws std::runtime_error if the requested depth by frame pointers
// exceeds it.
std::uint32_t choose_chain_depth(const sdk::Window& window, std::uint32_t max_depth);

// Returns how many bytes of a user stack to copy; 0: the kernel follows frame pointers.
// `is_walked`: the kernel walks most stacks, and only the few others are copied.
std::uint32_t choose_copied_bytes(const sdk::Window& window, std::uint64_t frequency_hz,
                                  bool is_walked);

}  // namespace ctprof::on_cpu
