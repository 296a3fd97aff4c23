// Whether the kernel measures how long interrupts take (CONFIG_IRQ_TIME_ACCOUNTING). Where it does
// not, taskstats have zeros for them, which look like values.
//
// Two witnesses: /proc/pressure, which has `irq` under the same option; and where pressure is off
// or was left out, the kernel's own types (BTF), in which the scheduler's queue has a member for
// it.

#pragma once

#include "ctprof/batch.hpp"
#include "ctprof/host.hpp"

namespace ctprof::taskstats {

// A gap where neither witness is there.
sdk::Reading<bool> measures_interrupts(const sdk::Host& host);

}  // namespace ctprof::taskstats
