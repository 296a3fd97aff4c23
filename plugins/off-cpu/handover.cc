#include "plugins/off-cpu/handover.hpp"

#include <algorithm>

#include "plugins/shared/kernel.hpp"

namespace ctprof::off_cpu {
namespace {

constexpr std::size_t kMostProcesses = 100'000;

// Returns the thread's own part of the kernel frames, copied, because a record need not be aligned.
std::span<const std::uint64_t> kernel_part(const off_place& place,
                                           std::uint64_t (&kernel)[OFF_FRAMES], std::size_t own) {
  const std::size_t frames = kernel_frames(place);
  std::copy_n(place.kernel, frames, kernel);
  return std::span(kernel).first(frames).subspan(std::min(own, frames));
}

}  // namespace

std::size_t kernel_frames(const off_place& place) {
  const std::size_t bytes =
      place.kernel_bytes > 0 ? static_cast<std::size_t>(place.kernel_bytes) : 0;
  return std::min<std::size_t>(bytes / sizeof place.kernel[0], OFF_FRAMES);
}

Handover::Handover(const sdk::Host& host, const Clocks& clocks)
    : clocks_(clocks),
      ns_per_tick_(kNsPerSecond / host.user_hz()),
      to_boottime_ns_(clocks.now_ns(CLOCK_BOOTTIME) - clocks.now_ns(CLOCK_MONOTONIC)),
      most_frames_(std::min<std::size_t>(OFF_FRAMES, deepest_chain(host))) {}

void Handover::put_process(const sdk::Records& records, const off_process& process) {
  ctprof_change change{};
  change.tgid = process.tgid;
  change.at_ns = process.at + to_boottime_ns_;
  change.parent = process.parent;
  change.kind = process.kind == OFF_FORK ? CTPROF_CHANGE_FORKED : CTPROF_CHANGE_EXECED;
  records.put(change);
  if (memory_.size() >= kMostProcesses) memory_.clear();
  process.kind == OFF_FORK ? void(memory_.erase(process.tgid))
                           : void(memory_[process.tgid] = Memory{});
}

sdk::Record Handover::record_of(const Whose& whose, std::uint32_t offer,
                                std::uint64_t weight) const {
  sdk::Record record(whose.who.tgid, whose.who.tid, weight);
  record.offer = offer;
  record.start_time_clock_ticks = whose.who.start_boottime / ns_per_tick_;
  record.at_ns = whose.at + to_boottime_ns_;
  record.flags = CTPROF_RECORD_OF_WINDOW;
  return record;
}

void Handover::put_weight(const sdk::Records& records, const Whose& whose, std::uint32_t offer,
                          std::uint64_t weight, ctprof_record_flags flags) const {
  if (weight == 0) return;
  sdk::Record record = record_of(whose, offer, weight);
  record.flags |= flags;
  records.put(record);
}

void Handover::put_place(const sdk::Records& records, const Whose& whose, const off_place& place,
                         std::span<const std::uint8_t> stack, std::uint64_t weight,
                         std::size_t own) {
  follow_memory(records, whose.who, place);
  sdk::Record record = record_of(whose, kOfferStacks, weight);
  std::uint64_t kernel[OFF_FRAMES];
  record.set_kernel(kernel_part(place, kernel, own));
  if (place.has_user) {
    record.set_user_copy(place.ip, place.sp, place.bp, place.lr, stack);
    if (stack.empty()) record.flags |= CTPROF_RECORD_NO_USER;
  } else if (place.memory != 0) {
    record.flags |= CTPROF_RECORD_NO_USER;  // user space of 32 bits
  }
  if (kernel_frames(place) >= most_frames_) record.flags |= CTPROF_RECORD_CUT;
  records.put(record);
}

void Handover::put_walked(const sdk::Records& records, const Whose& whose, const off_place& place,
                          const WalkedFrames& walked, std::uint64_t weight, std::size_t own) {
  sdk::Record record = record_of(whose, kOfferStacks, weight);
  std::uint64_t kernel[OFF_FRAMES];
  record.set_kernel(kernel_part(place, kernel, own));
  record.set_user_frames(walked.frames);
  if (walked.is_deep || kernel_frames(place) >= most_frames_) record.flags |= CTPROF_RECORD_CUT;
  records.put(record);
}

// A change of the code changes its size, or the whole address space. Other changes, such as a
// library that replaces another one of the same size, are not detected.
void Handover::follow_memory(const sdk::Records& records, const off_who& who,
                             const off_place& place) {
  if (place.memory == 0) return;
  const Memory now{place.memory, place.code};
  const auto [known, is_new] = memory_.try_emplace(who.tgid, now);
  if (is_new || (known->second.space == now.space && known->second.code == now.code)) return;
  known->second = now;
  ctprof_change change{};
  change.kind = CTPROF_CHANGE_REMAPPED;
  change.tgid = who.tgid;
  change.at_ns = clocks_.now_ns(CLOCK_BOOTTIME);
  records.put(change);
}

void Handover::put_numbers(const sdk::Records& records, const Whose& whose,
                           const Happened& happened) const {
  const off_sums& sums = happened.sums;
  put_weight(records, whose, kOfferCount, sums.waits);
  put_weight(records, whose, kOfferTotal, happened.off_cpu_ns());
  put_weight(records, whose, kOfferLongest, sums.longest);
  put_weight(records, whose, kOfferShortest, sums.shortest);
  for (std::uint32_t kind = 0; kind < OFF_KINDS; ++kind) {
    put_weight(records, whose, kOfferKinds + 2 * kind, sums.counts[kind]);
    put_weight(records, whose, kOfferKinds + 2 * kind + 1, sums.ns[kind]);
  }
}

void Handover::put_rest(const sdk::Records& records, const Whose& whose,
                        std::uint64_t weight) const {
  put_weight(records, whose, kOfferStacks, weight, CTPROF_RECORD_REST);
}

}  // namespace ctprof::off_cpu
