#include "plugins/jemalloc-ptrace/finder/capture_budget.hpp"

namespace ctprof::jemalloc {
namespace {

// Once a capture has spent this much time on files, each further file gets a smaller budget.
constexpr std::chrono::nanoseconds kOrdinaryBudgetAfter = std::chrono::seconds(3);
constexpr std::chrono::nanoseconds kHeadersOnlyAfter = std::chrono::seconds(6);

}  // namespace

FileAllowance CaptureBudget::next_allowance() const {
  const std::chrono::nanoseconds spent(spent_ns_.load());
  if (spent < kOrdinaryBudgetAfter) return kFullFileAllowance;
  return spent < kHeadersOnlyAfter ? kOrdinaryFileAllowance : kHeadersOnlyAllowance;
}

}  // namespace ctprof::jemalloc
