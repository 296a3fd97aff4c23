// Limits the work of finding names.

#pragma once

#include <cstdint>

namespace ctprof {

// Counts and limits work. One byte of a symbol that is scanned costs one step; bytes of names, of
// texts and of unpacked data cost the constants below. 100 million steps take about a quarter of a
// second.
class NameWork {
 public:
  static constexpr std::uint64_t kStepsPerNameByte = 8, kStepsPerTextByte = 4,
                                 kStepsPerUnpackedByte = 16;

  // Creates a counter without a limit.
  NameWork() = default;
  explicit NameWork(std::uint64_t max_steps) : remaining_steps_(max_steps) {}

  // Spends the steps and returns true if enough are left; otherwise spends nothing, returns false,
  // and is_exceeded() becomes true.
  bool spend(std::uint64_t steps);
  // Spends all remaining steps, for an operation that needs more.
  void exceed() {
    remaining_steps_ = 0;
    is_exceeded_ = true;
  }
  // Returns true if some work was skipped.
  bool is_exceeded() const { return is_exceeded_; }
  std::uint64_t get_remaining_steps() const { return remaining_steps_; }

 private:
  std::uint64_t remaining_steps_ = UINT64_MAX;
  bool is_exceeded_ = false;
};

}  // namespace ctprof
