// Limits the cost of reading one file that may be hostile, in bytes and optionally in time.
//
// A file can claim any size, be sparse, or be on a slow disk. All reads that are needed to examine
// a file, including reads of related files, are charged to one budget. When it is spent, reads fail
// as if the file were truncated.
//
// Threads: one at a time.
//
// See also: elf_file.hpp (charges all its reads).

#pragma once

#include <chrono>
#include <cstdint>

namespace ctprof {

struct FileAllowance {
  static constexpr std::chrono::milliseconds kNoTimeLimit = std::chrono::milliseconds::max();

  std::uint64_t bytes;
  std::chrono::milliseconds time = kNoTimeLimit;
};

// Symbols and call frames of a 2 GiB browser fit. Without a time limit, the same file has the same
// result on every host.
inline constexpr FileAllowance kDefaultAllowance{512ULL << 20};

class FileBudget {
 public:
  using Clock = std::chrono::steady_clock;
  using NowFunction = Clock::time_point (*)();

  explicit FileBudget(const FileAllowance& allowance = kDefaultAllowance,
                      NowFunction now = Clock::now);

  // Charges `bytes` before they are read or created. Returns false once the budget was too small or
  // the time was over, and for every later call.
  bool charge(std::uint64_t bytes);
  bool is_spent() const { return is_spent_; }

  const FileAllowance& allowance() const { return allowance_; }
  std::chrono::nanoseconds elapsed() const { return now_() - start_; }

 private:
  bool is_late() const {
    return allowance_.time != FileAllowance::kNoTimeLimit && now_() > start_ + allowance_.time;
  }

  FileAllowance allowance_;
  NowFunction now_;
  std::uint64_t bytes_left_;
  Clock::time_point start_;
  bool is_spent_ = false;
};

}  // namespace ctprof
