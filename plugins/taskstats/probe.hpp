// Determines what this host's taskstats lack, by requesting one existing thread: that of ctprof
// itself.
//
// Permissions, the version of the struct and the switches are the same for all threads, so one
// answer is sufficient. Options that the kernel was built without appear as impossible zeros:
// ctprof did run on a CPU, and has memory.

#pragma once

#include <cstddef>
#include <string>

#include "ctprof/batch.hpp"
#include "ctprof/host.hpp"

namespace ctprof::taskstats {

// Refuses the unavailable ones of the first `fields` offers, which are those of Field, or all
// offers.
void probe_host(const sdk::Host& host, const sdk::Probe& probe, std::size_t fields);

// Does the same for exited threads: also checks whether the kernel reports them to ctprof.
void probe_exit_messages(const sdk::Host& host, const sdk::Probe& probe, std::size_t fields);

// Returns all CPUs that the host can ever have, in the kernel's format ("0-7"), or the reason why
// they are unknown.
sdk::Reading<std::string> read_possible_cpus(const sdk::Host& host);

// Returns whether delay accounting may have been enabled while threads were already running, whose
// earlier delays are then missing. Returns false if the kernel was started with it, or has no
// switch (before 5.14).
bool may_be_enabled_after_boot(const sdk::Host& host);

// Returns whether the kernel measures the time of interrupts (CONFIG_IRQ_TIME_ACCOUNTING). If it
// does not, taskstats has zeros for them, which look like values.
//
// There are two indications: /proc/pressure has `irq` under the same option. If pressure is
// disabled or not built in, the kernel's types (BTF) have a member for it in the run queue. Returns
// a gap if neither can be read.
sdk::Reading<bool> measures_interrupts(const sdk::Host& host);

}  // namespace ctprof::taskstats
