#include "core/stacks/name_work.hpp"

namespace ctprof {

bool NameWork::spend(std::uint64_t steps) {
  if (steps > remaining_steps_) is_exceeded_ = true;
  if (is_exceeded_) return false;
  remaining_steps_ -= remaining_steps_ == UINT64_MAX ? 0 : steps;
  return true;
}

}  // namespace ctprof
