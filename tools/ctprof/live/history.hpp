// The most recent windows, in memory, in the format of a columns file. Limited to ten minutes and
// to a number of bytes.
//
// Threads: one.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace ctprof::live {

// One window. Copies share its bytes.
struct Sample {
  std::uint64_t number = 0;     // consecutive, from 1
  std::uint64_t closed_ns = 0;  // wall-clock time in ns
  std::uint64_t length_ns = 0;
  std::shared_ptr<const std::string> bytes;
};

class History {
 public:
  static constexpr std::uint64_t kMaxLengthNs = 600'000'000'000;

  explicit History(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Removes the oldest windows that exceed the limits, but never the newest. REQUIRES: the sample's
  // number is the next one.
  void add(Sample sample);

  bool empty() const { return samples_.empty(); }
  // REQUIRES: not empty.
  const Sample& oldest() const { return samples_.front(); }
  const Sample& newest() const { return samples_.back(); }
  // Returns null if the window was removed or does not exist yet.
  const Sample* find(std::uint64_t number) const;

  // The total length of the stored windows.
  std::uint64_t length_ns() const { return length_ns_; }
  std::size_t bytes() const { return bytes_; }
  // Whether the size, rather than the time, limits the history.
  bool is_limited_by_size() const { return is_limited_by_size_; }

 private:
  void drop_oldest();

  std::size_t max_bytes_;
  std::deque<Sample> samples_;
  std::size_t bytes_ = 0;
  std::uint64_t length_ns_ = 0;
  bool is_limited_by_size_ = false;
};

}  // namespace ctprof::live
