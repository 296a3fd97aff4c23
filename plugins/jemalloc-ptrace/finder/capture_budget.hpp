// Limits the cost of examining files, for all files of a capture.
//
// A user can have thousands of files that claim any size, are sparse, or are on a slow disk. When
// the budget of a file is spent, its result is FindStatus::TooCostly. A capture first gives each
// file the full budget; when that has become expensive, only the cost of an ordinary file; and
// finally only enough to dismiss a file by its headers, so that expensive files cannot hide the
// others.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/elf/file_budget.hpp"

namespace ctprof::jemalloc {

inline constexpr FileAllowance kFullFileAllowance{512ULL << 20, std::chrono::milliseconds(1500)};
inline constexpr FileAllowance kOrdinaryFileAllowance{16ULL << 20, std::chrono::milliseconds(20)};
inline constexpr FileAllowance kHeadersOnlyAllowance{64ULL << 10, std::chrono::milliseconds(5)};

// Returns whether this is the full budget of a file, spent or not; then another capture would have
// the same result.
inline bool is_full_budget(const FileBudget& budget) {
  return budget.allowance().bytes >= kFullFileAllowance.bytes;
}

// Threads: any.
class CaptureBudget {
 public:
  explicit CaptureBudget(FileBudget::NowFunction now = FileBudget::Clock::now) : now_(now) {}

  // Returns the budget of the next file.
  FileAllowance next_allowance() const;
  void charge(const FileBudget& file) { spent_ns_ += file.elapsed().count(); }
  FileBudget::NowFunction now() const { return now_; }

 private:
  FileBudget::NowFunction now_;
  std::atomic<std::int64_t> spent_ns_{0};
};

}  // namespace ctprof::jemalloc
