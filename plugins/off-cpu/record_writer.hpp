// Converts the output of the BPF programs to records and changes of ctprof.
//
// The thread of a record is identified together with a time, because a tid passes to another thread
// when that one takes the place of its leader by exec.
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "ctprof/host.hpp"
#include "ctprof/records.hpp"
#include "plugins/off-cpu/shared_records.h"
#include "plugins/off-cpu/sums.hpp"
#include "plugins/shared/clock.hpp"

namespace ctprof::off_cpu {

// The offers, in order.
enum Offer : std::uint32_t {
  kOfferStacks,
  kOfferCount,
  kOfferTotal,
  kOfferLongest,
  kOfferShortest,
  kOfferFirstState,  // from here on a count and a time for each kind, in the order of off_state
  kOfferFirstHistogram = kOfferFirstState + 2 * OFF_WAIT_STATES,  // in the order of off_histogram
  kOffers = kOfferFirstHistogram + OFF_HISTOGRAMS
};

struct ThreadAtTime {
  off_identity identity;
  std::uint64_t at_ns;  // the time of the identity, on CLOCK_MONOTONIC
};

// Frames of user space, encoded as CTPROF_USER_FRAMES.
struct WalkedFrames {
  std::span<const std::uint64_t> frames;
  bool is_deep = false;  // frames are missing at the root
};

// Returns the number of kernel addresses in the place.
std::size_t count_kernel_frames(const off_stack_place& place);

class RecordWriter {
 public:
  // Keeps a reference to `clocks`, which must outlive this object.
  RecordWriter(const sdk::Host& host, const Clocks& clocks);

  // Writes a stack. `stack`: memory from the place's stack pointer on; empty if it could not be
  // read. `own_frame_count`: the number of kernel frames, from the leaf on, that belong to tracing.
  void put_stack(const sdk::Records& records, const ThreadAtTime& thread,
                 const off_stack_place& place, std::span<const std::uint8_t> stack,
                 std::uint64_t weight, std::size_t own_frame_count = 0);
  // Does the same with a user part that a program walked.
  void put_walked_stack(const sdk::Records& records, const ThreadAtTime& thread,
                        const off_stack_place& place, const WalkedFrames& walked,
                        std::uint64_t weight, std::size_t own_frame_count = 0);
  // Writes the waiting time that is charged to no stack.
  void put_rest(const sdk::Records& records, const ThreadAtTime& thread,
                std::uint64_t weight) const;
  void put_sums(const sdk::Records& records, const ThreadAtTime& thread,
                const WindowSums& window_sums) const;
  // Writes these histograms, or gaps if they are unknown. `requested`: bits of off_histogram.
  void put_histograms(const sdk::Records& records, const ThreadAtTime& thread,
                      const WindowSums& window_sums, std::uint32_t requested) const;
  void put_process_change(const sdk::Records& records, const off_process& process);

 private:
  // The memory of the process at its previous record.
  struct MappedCode {
    std::uint64_t space = 0, code = 0;
  };

  void report_remapping(const sdk::Records& records, const off_identity& identity,
                        const off_stack_place& place);
  void put_weight(const sdk::Records& records, const ThreadAtTime& thread, std::uint32_t offer,
                  std::uint64_t weight, ctprof_record_flags flags = 0) const;
  void put_histogram(const sdk::Records& records, const ThreadAtTime& thread, std::uint32_t offer,
                     const std::uint32_t* counts) const;
  sdk::Record make_record(const ThreadAtTime& thread, std::uint32_t offer,
                          std::uint64_t weight) const;

  const Clocks& clocks_;
  std::uint64_t ns_per_tick_;
  std::uint64_t to_boottime_ns_;
  std::size_t max_frames_;  // of the kernel part: a stack of this depth may be truncated
  std::unordered_map<std::uint32_t, MappedCode> memory_;  // by tgid
};

}  // namespace ctprof::off_cpu
