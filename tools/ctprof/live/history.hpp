// The last windows, each as a file in columns holds it, but in memory: at most ten minutes of them,
// and at most so many bytes.
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
  std::uint64_t number = 0;     // from 1 on, without gaps
  std::uint64_t closed_ns = 0;  // when, as people set their clocks
  std::uint64_t length_ns = 0;
  std::shared_ptr<const std::string> bytes;
};

class History {
 public:
  static constexpr std::uint64_t kLongestNs = 600'000'000'000;

  explicit History(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Drops the oldest ones that have no room any more; the newest stays in any case. REQUIRES: its
  // number is the next.
  void add(Sample sample);

  bool empty() const { return samples_.empty(); }
  // REQUIRES: not empty.
  const Sample& oldest() const { return samples_.front(); }
  const Sample& newest() const { return samples_.back(); }
  // Null if it is not there any more, or not yet.
  const Sample* find(std::uint64_t number) const;

  // Of all windows that are there.
  std::uint64_t length_ns() const { return length_ns_; }
  std::size_t bytes() const { return bytes_; }
  // Whether room, rather than time, decides which window is the oldest.
  bool lacks_room() const { return lacks_room_; }

 private:
  void drop_oldest();

  std::size_t most_bytes_;
  std::deque<Sample> samples_;
  std::size_t bytes_ = 0;
  std::uint64_t length_ns_ = 0;
  bool lacks_room_ = false;
};

}  // namespace ctprof::live
