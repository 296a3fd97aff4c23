// Samples that wait for their user part.
//
// If the kernel defers user chains, a sample has its kernel part and a number. The user part is
// delivered when the thread returns to user space, once for all samples of the thread since it
// entered the kernel, possibly on another CPU. A thread may stay in the kernel for hours, so the
// capacity is limited: when it is reached, the oldest sample is handed over without user part.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plugins/on-cpu/records.hpp"

namespace ctprof::on_cpu {

class Pending {
 public:
  // A waiting sample.
  struct Waiting {
    std::uint32_t tgid = 0, tid = 0;  // tid 0: a free slot
    std::uint64_t number = 0;
    std::uint64_t at_ns = 0;
    std::uint64_t weight_ns = 0;
    std::span<const std::uint64_t> kernel;  // in memory of Pending
  };

  // `places` samples with at most `depth` addresses each; further addresses at the root are
  // dropped.
  Pending(std::size_t places, std::size_t depth)
      : depth_(depth), places_(places), addresses_(places * depth) {}

  // Stores a sample. Calls give_up(waiting) with the sample that had the same slot.
  template <class GiveUp>
  void keep(const Sample& sample, std::uint64_t at_ns, GiveUp give_up) {
    Waiting& place = places_[next_];
    if (place.tid != 0) give_up(std::as_const(place));
    fill(place, next_, sample, at_ns);
    next_ = (next_ + 1) % places_.size();
  }

  // Calls complete(waiting) for each sample that this user part belongs to, oldest first.
  template <class Complete>
  void complete(const Deferred& deferred, Complete complete) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Waiting& place = places_[(next_ + i) % places_.size()];
      if (place.tid == 0 || place.tid != deferred.tid || place.number != deferred.number) continue;
      complete(std::as_const(place));
      place.tid = 0;
    }
  }

  // Calls give_up(waiting) for all waiting samples, oldest first.
  template <class GiveUp>
  void give_up_all(GiveUp give_up) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Waiting& place = places_[(next_ + i) % places_.size()];
      if (place.tid != 0) give_up(std::as_const(place));
      place.tid = 0;
    }
  }

 private:
  void fill(Waiting& place, std::size_t index, const Sample& sample, std::uint64_t at_ns) {
    const auto kernel = sample.kernel.first(std::min(depth_, sample.kernel.size()));
    const auto room = std::span(addresses_).subspan(index * depth_, kernel.size());
    std::ranges::copy(kernel, room.begin());
    place = {sample.tgid, sample.tid, *sample.deferred, at_ns, sample.weight_ns, room};
  }

  std::size_t depth_;
  std::vector<Waiting> places_;
  std::vector<std::uint64_t> addresses_;
  std::size_t next_ = 0;  // the oldest slot
};

}  // namespace ctprof::on_cpu
