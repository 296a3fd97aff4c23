#include "plugins/jemalloc-ptrace/finder/budget.hpp"

namespace ctprof::jemalloc {
namespace {

// Spent on files in a capture, after which each gets less.
constexpr std::chrono::nanoseconds kDear = std::chrono::seconds(3);
constexpr std::chrono::nanoseconds kMost = std::chrono::seconds(6);

}  // namespace

FileBudget::FileBudget(const Allowance& allowance)
    : bytes_left_(allowance.bytes),
      end_(start_ + allowance.time),
      is_full_(allowance.bytes >= kAllowanceOfFile.bytes) {}

bool FileBudget::charge(std::uint64_t bytes) {
  if (spent_ || bytes > bytes_left_ || Clock::now() > end_) {
    spent_ = true;
    return false;
  }
  bytes_left_ -= bytes;
  return true;
}

Allowance CaptureBudget::next() const {
  const std::chrono::nanoseconds spent(spent_ns_.load());
  if (spent < kDear) return kAllowanceOfFile;
  return spent < kMost ? kOrdinaryFile : kHeadersOnly;
}

}  // namespace ctprof::jemalloc
