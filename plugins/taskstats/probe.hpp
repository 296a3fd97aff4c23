// What this host's taskstats lack, found by asking for one thread that exists: ourselves.
//
// Rights, the version of the struct and the switches are the same for all threads, so one answer
// settles them. What the kernel was built without shows as a zero that cannot be true: we did run
// on a CPU, and do have memory.

#pragma once

#include <cstddef>
#include <string>

#include "ctprof/batch.hpp"
#include "ctprof/host.hpp"

namespace ctprof::taskstats {

// Refuses what cannot be had of the first `fields` offers, which are those of Field, or all offers.
void probe_host(const sdk::Host& host, const sdk::Probe& probe, std::size_t fields);

// The same for threads that end: also whether the kernel tells us of them.
void probe_listening(const sdk::Host& host, const sdk::Probe& probe, std::size_t fields);

// All CPUs that the host may ever have, as the kernel writes them ("0-7"), or why that is not
// known.
sdk::Reading<std::string> possible_cpus(const sdk::Host& host);

// Whether delay accounting may have been switched on when threads were running already, which are
// not accounted for then. Not so where the kernel was started with it, or has no switch
// (before 5.14).
bool was_switched_on_later(const sdk::Host& host);

// Whether the kernel measures how long interrupts take (CONFIG_IRQ_TIME_ACCOUNTING). Where it does
// not, taskstats has zeros for them, which look like values.
//
// There are two signs: /proc/pressure has `irq` under the same option; where pressure is off or was
// left out, the kernel's own types (BTF) have a member for it in the scheduler's queue. A gap where
// neither can be read.
sdk::Reading<bool> measures_interrupts(const sdk::Host& host);

}  // namespace ctprof::taskstats
