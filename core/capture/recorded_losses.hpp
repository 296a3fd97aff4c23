// The losses of a recorder, as far as they belong to a window.

#pragma once

#include <cstdint>

#include "core/capture/records.hpp"

namespace ctprof {

// Removes the places of losses that ended before the window opened, on CLOCK_BOOTTIME: they belong
// to the window before, or to none. `is_first`: no window came before, so that what was lost then
// is removed from the counts, too; else it still counts, for the window before is complete. Losses
// that go on at that time begin there.
void keep_losses_since(Recorded& recorded, std::uint64_t opened_ns, bool is_first);

}  // namespace ctprof
