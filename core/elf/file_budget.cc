#include "core/elf/file_budget.hpp"

namespace ctprof {

FileBudget::FileBudget(const FileAllowance& allowance, NowFunction now)
    : allowance_(allowance), now_(now), bytes_left_(allowance.bytes), start_(now()) {}

bool FileBudget::charge(std::uint64_t bytes) {
  if (is_spent_ || bytes > bytes_left_ || is_late()) {
    is_spent_ = true;
    return false;
  }
  bytes_left_ -= bytes;
  return true;
}

}  // namespace ctprof
