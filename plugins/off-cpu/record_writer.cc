#include "plugins/off-cpu/record_writer.hpp"

#include <algorithm>

#include "plugins/shared/kernel.hpp"

namespace ctprof::off_cpu {
namespace {

constexpr std::size_t kMaxProcesses = 100'000;

// Returns the thread's own part of the kernel frames, copied, because a record need not be aligned.
std::span<const std::uint64_t> copy_kernel_frames(const off_stack_place& place,
                                                  std::uint64_t (&kernel)[OFF_FRAMES],
                                                  std::size_t own_frame_count) {
  const std::size_t frames = count_kernel_frames(place);
  std::copy_n(place.kernel, frames, kernel);
  return std::span(kernel).first(frames).subspan(std::min(own_frame_count, frames));
}

}  // namespace

std::size_t count_kernel_frames(const off_stack_place& place) {
  const std::size_t bytes =
      place.kernel_bytes > 0 ? static_cast<std::size_t>(place.kernel_bytes) : 0;
  return std::min<std::size_t>(bytes / sizeof place.kernel[0], OFF_FRAMES);
}

RecordWriter::RecordWriter(const sdk::Host& host, const Clocks& clocks)
    : clocks_(clocks),
      ns_per_tick_(ns_per_tick(host.user_hz())),
      to_boottime_ns_(clocks.now_ns(CLOCK_BOOTTIME) - clocks.now_ns(CLOCK_MONOTONIC)),
      max_frames_(std::min<std::size_t>(OFF_FRAMES, max_stack_depth(host))) {}

void RecordWriter::put_process_change(const sdk::Records& records, const off_process& process) {
  ctprof_change change{};
  change.tgid = process.tgid;
  change.at_ns = process.at + to_boottime_ns_;
  change.parent = process.parent;
  change.kind = process.kind == OFF_FORK ? CTPROF_CHANGE_FORKED : CTPROF_CHANGE_EXECED;
  records.put(change);
  if (memory_.size() >= kMaxProcesses) memory_.clear();
  process.kind == OFF_FORK ? void(memory_.erase(process.tgid))
                           : void(memory_[process.tgid] = MappedCode{});
}

sdk::Record RecordWriter::make_record(const ThreadAtTime& thread, std::uint32_t offer,
                                      std::uint64_t weight) const {
  sdk::Record record(thread.identity.tgid, thread.identity.tid, weight);
  record.offer = offer;
  record.start_time_clock_ticks = thread.identity.start_boottime / ns_per_tick_;
  record.at_ns = thread.at_ns + to_boottime_ns_;
  record.flags = CTPROF_RECORD_OF_WINDOW;
  return record;
}

void RecordWriter::put_weight(const sdk::Records& records, const ThreadAtTime& thread,
                              std::uint32_t offer, std::uint64_t weight,
                              ctprof_record_flags flags) const {
  if (weight == 0) return;
  sdk::Record record = make_record(thread, offer, weight);
  record.flags |= flags;
  records.put(record);
}

void RecordWriter::put_stack(const sdk::Records& records, const ThreadAtTime& thread,
                             const off_stack_place& place, std::span<const std::uint8_t> stack,
                             std::uint64_t weight, std::size_t own_frame_count) {
  report_remapping(records, thread.identity, place);
  sdk::Record record = make_record(thread, kOfferStacks, weight);
  std::uint64_t kernel[OFF_FRAMES];
  record.set_kernel(copy_kernel_frames(place, kernel, own_frame_count));
  if (place.has_user) {
    record.set_user_copy(place.ip, place.sp, place.bp, place.lr, stack);
    if (stack.empty()) record.flags |= CTPROF_RECORD_NO_USER;
  } else if (place.memory != 0) {
    record.flags |= CTPROF_RECORD_NO_USER;  // user space of 32 bits
  }
  if (count_kernel_frames(place) >= max_frames_) record.flags |= CTPROF_RECORD_CUT;
  records.put(record);
}

void RecordWriter::put_walked_stack(const sdk::Records& records, const ThreadAtTime& thread,
                                    const off_stack_place& place, const WalkedFrames& walked,
                                    std::uint64_t weight, std::size_t own_frame_count) {
  sdk::Record record = make_record(thread, kOfferStacks, weight);
  std::uint64_t kernel[OFF_FRAMES];
  record.set_kernel(copy_kernel_frames(place, kernel, own_frame_count));
  record.set_user_frames(walked.frames);
  if (walked.is_deep || count_kernel_frames(place) >= max_frames_)
    record.flags |= CTPROF_RECORD_CUT;
  records.put(record);
}

// A change of the code changes its size, or the whole address space. Other changes, such as a
// library that replaces another one of the same size, are not detected.
void RecordWriter::report_remapping(const sdk::Records& records, const off_identity& identity,
                                    const off_stack_place& place) {
  if (place.memory == 0) return;
  const MappedCode current{place.memory, place.code};
  const auto [entry, is_new] = memory_.try_emplace(identity.tgid, current);
  if (is_new || (entry->second.space == current.space && entry->second.code == current.code))
    return;
  entry->second = current;
  ctprof_change change{};
  change.kind = CTPROF_CHANGE_REMAPPED;
  change.tgid = identity.tgid;
  change.at_ns = clocks_.now_ns(CLOCK_BOOTTIME);
  records.put(change);
}

void RecordWriter::put_sums(const sdk::Records& records, const ThreadAtTime& thread,
                            const WindowSums& window_sums) const {
  const off_sums& sums = window_sums.sums;
  put_weight(records, thread, kOfferCount, sums.waits);
  put_weight(records, thread, kOfferTotal, window_sums.off_cpu_ns());
  put_weight(records, thread, kOfferLongest, sums.longest);
  put_weight(records, thread, kOfferShortest, sums.shortest);
  for (std::uint32_t kind = 0; kind < OFF_WAIT_STATES; ++kind) {
    put_weight(records, thread, kOfferFirstState + 2 * kind, sums.counts[kind]);
    put_weight(records, thread, kOfferFirstState + 2 * kind + 1, sums.ns[kind]);
  }
}

void RecordWriter::put_histograms(const sdk::Records& records, const ThreadAtTime& thread,
                                  const WindowSums& window_sums, std::uint32_t requested) const {
  for (std::uint32_t kind = 0; kind < OFF_HISTOGRAMS; ++kind) {
    if ((requested >> kind & 1) == 0) continue;
    const std::uint32_t offer = kOfferFirstHistogram + kind;
    if (window_sums.histograms)
      put_histogram(records, thread, offer, &window_sums.histograms->counts[kind * OFF_BUCKETS]);
    else
      records.put_unseen(thread.identity.tgid, thread.identity.tid,
                         thread.identity.start_boottime / ns_per_tick_, offer);
  }
}

void RecordWriter::put_histogram(const sdk::Records& records, const ThreadAtTime& thread,
                                 std::uint32_t offer, const std::uint32_t* counts) const {
  for (std::uint32_t bucket = 0; bucket < OFF_BUCKETS; ++bucket) {
    if (counts[bucket] == 0) continue;
    sdk::Record record = make_record(thread, offer, counts[bucket]);
    record.element = OFF_FIRST_BUCKET + bucket;
    records.put(record);
  }
}

void RecordWriter::put_rest(const sdk::Records& records, const ThreadAtTime& thread,
                            std::uint64_t weight) const {
  put_weight(records, thread, kOfferStacks, weight, CTPROF_RECORD_REST);
}

}  // namespace ctprof::off_cpu
