#include "tools/ctprof/live/history.hpp"

#include <utility>

namespace ctprof::live {

void History::add(Sample sample) {
  bytes_ += sample.bytes->size();
  length_ns_ += sample.length_ns;
  samples_.push_back(std::move(sample));
  while (samples_.size() > 1 && length_ns_ > kMaxLengthNs)
    drop_oldest(), is_limited_by_size_ = false;
  while (samples_.size() > 1 && bytes_ > max_bytes_) drop_oldest(), is_limited_by_size_ = true;
}

void History::drop_oldest() {
  bytes_ -= samples_.front().bytes->size();
  length_ns_ -= samples_.front().length_ns;
  samples_.pop_front();
}

const Sample* History::find(std::uint64_t number) const {
  if (samples_.empty() || number < samples_.front().number) return nullptr;
  const std::uint64_t at = number - samples_.front().number;
  return at < samples_.size() ? &samples_[at] : nullptr;
}

}  // namespace ctprof::live
