// Selects the losses of a recorder that belong to a window.

#pragma once

#include <cstdint>

#include "core/capture/active_recorders.hpp"

namespace ctprof {

// Removes losses that ended before the window opened, on CLOCK_BOOTTIME. `is_first`: there is no
// previous window, so their records are also removed from the counts. Otherwise they still count,
// because the previous window is complete. Losses that span the opening start there.
void drop_losses_before(RecorderResult& recorded, std::uint64_t opened_ns, bool is_first);

}  // namespace ctprof
