// Budgets of files without a time limit, so that delays of the machine have no effect.

#pragma once

#include <memory>

#include "plugins/jemalloc-ptrace/finder/capture_budget.hpp"

namespace ctprof::jemalloc {

inline FileBudget::Clock::time_point stopped_clock() { return {}; }

inline std::shared_ptr<FileBudget> without_time_limit(
    const FileAllowance& allowance = kFullFileAllowance) {
  return std::make_shared<FileBudget>(allowance, stopped_clock);
}

}  // namespace ctprof::jemalloc
