#include "core/capture/recorded_losses.hpp"

#include <algorithm>

namespace ctprof {

void drop_losses_before(RecorderResult& recorded, std::uint64_t opened_ns, bool is_first) {
  std::erase_if(recorded.losses, [&](const ctprof_loss& loss) {
    if (loss.until_ns > opened_ns) return false;
    std::uint64_t& total = loss.kind == CTPROF_LOSS_FULL ? recorded.lost : recorded.missed;
    if (is_first) total -= std::min(total, loss.count);
    return true;
  });
  for (ctprof_loss& loss : recorded.losses) loss.from_ns = std::max(loss.from_ns, opened_ns);
}

}  // namespace ctprof
