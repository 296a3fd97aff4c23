// What reading a foreign file may cost, in bytes and in time: of one file with all that is read for
// it, and of all files of a capture.
//
// A file can claim any size, be sparse, or lie on a slow disk; a user can have thousands of them.
// When its budget is spent, reading fails like that of a file cut short, and the file's verdict is
// Attach::TooCostly. A capture first gives each file all that one may cost; once many were dear,
// only what an ordinary file costs; and in the end only enough to dismiss a file by its headers, so
// that dear files cannot hide the others.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ctprof::jemalloc {

struct Allowance {
  std::uint64_t bytes;
  std::chrono::milliseconds time;
};
inline constexpr Allowance kAllowanceOfFile{512ULL << 20, std::chrono::milliseconds(1500)};
inline constexpr Allowance kOrdinaryFile{16ULL << 20, std::chrono::milliseconds(20)};
inline constexpr Allowance kHeadersOnly{64ULL << 10, std::chrono::milliseconds(5)};

// Of one file. One thread.
class FileBudget {
 public:
  explicit FileBudget(const Allowance& allowance = kAllowanceOfFile);

  // Takes `bytes` off the budget before they are read or made. False from the first time on that
  // there were not enough, or the time was over.
  bool charge(std::uint64_t bytes);
  bool spent() const { return spent_; }

  // Spent or not, the budget was all that a file may ever cost: another capture would fare no
  // better.
  bool is_full() const { return is_full_; }
  std::chrono::nanoseconds elapsed() const { return Clock::now() - start_; }

 private:
  using Clock = std::chrono::steady_clock;

  std::uint64_t bytes_left_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point end_;
  bool is_full_;
  bool spent_ = false;
};

// Of a capture. Threads may use it at once.
class CaptureBudget {
 public:
  // What the next file may cost.
  Allowance next() const;
  void spend(const FileBudget& file) { spent_ns_ += file.elapsed().count(); }

 private:
  std::atomic<std::int64_t> spent_ns_{0};
};

}  // namespace ctprof::jemalloc
