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

class PendingSamples {
 public:
  // A waiting sample.
  struct WaitingSample {
    std::uint32_t tgid = 0, tid = 0;  // tid 0: a free slot
    std::uint64_t number = 0;
    std::uint64_t at_ns = 0;
    std::uint64_t weight_ns = 0;
    std::span<const std::uint64_t> kernel;  // in memory of PendingSamples
  };

  // `slot_count` samples with at most `depth` addresses each; further addresses at the root are
  // dropped.
  PendingSamples(std::size_t slot_count, std::size_t depth)
      : depth_(depth), slots_(slot_count), addresses_(slot_count * depth) {}

  // Stores a sample. Calls give_up(waiting) with the sample that had the same slot.
  template <class GiveUpCallback>
  void add(const Sample& sample, std::uint64_t at_ns, GiveUpCallback give_up) {
    WaitingSample& slot = slots_[next_slot_];
    if (slot.tid != 0) give_up(std::as_const(slot));
    fill(slot, next_slot_, sample, at_ns);
    next_slot_ = (next_slot_ + 1) % slots_.size();
  }

  // Calls complete(waiting) for each sample that this user part belongs to, oldest first.
  template <class Complete>
  void complete(const DeferredChain& deferred, Complete complete) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      WaitingSample& slot = slots_[(next_slot_ + i) % slots_.size()];
      if (slot.tid == 0 || slot.tid != deferred.tid || slot.number != deferred.number) continue;
      complete(std::as_const(slot));
      slot.tid = 0;
    }
  }

  // Calls give_up(waiting) for all waiting samples, oldest first.
  template <class GiveUpCallback>
  void give_up_all(GiveUpCallback give_up) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      WaitingSample& slot = slots_[(next_slot_ + i) % slots_.size()];
      if (slot.tid != 0) give_up(std::as_const(slot));
      slot.tid = 0;
    }
  }

 private:
  void fill(WaitingSample& slot, std::size_t index, const Sample& sample, std::uint64_t at_ns) {
    const auto kernel = sample.kernel.first(std::min(depth_, sample.kernel.size()));
    const auto addresses = std::span(addresses_).subspan(index * depth_, kernel.size());
    std::ranges::copy(kernel, addresses.begin());
    slot = {sample.tgid, sample.tid, *sample.deferred, at_ns, sample.weight_ns, addresses};
  }

  std::size_t depth_;
  std::vector<WaitingSample> slots_;
  std::vector<std::uint64_t> addresses_;
  std::size_t next_slot_ = 0;  // the oldest slot
};

}  // namespace ctprof::on_cpu
