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
#include "plugins/off-cpu/sums.hpp"
#include "plugins/off-cpu/told.h"
#include "plugins/shared/clock.hpp"

namespace ctprof::off_cpu {

// The offers, in order.
enum Offer : std::uint32_t {
  kOfferStacks,
  kOfferCount,
  kOfferTotal,
  kOfferLongest,
  kOfferShortest,
  kOfferKinds,  // from here on a count and a time for each kind, in the order of off_state
  kOffers = kOfferKinds + 2 * OFF_KINDS
};

struct Whose {
  off_who who;
  std::uint64_t at;  // the time of the identity, on CLOCK_MONOTONIC
};

// Frames of user space, encoded as CTPROF_USER_FRAMES.
struct WalkedFrames {
  std::span<const std::uint64_t> frames;
  bool is_deep = false;  // frames are missing at the root
};

// Returns the number of kernel addresses in the place.
std::size_t kernel_frames(const off_place& place);

class Handover {
 public:
  // Keeps a reference to `clocks`, which must outlive this object.
  Handover(const sdk::Host& host, const Clocks& clocks);

  // Writes a stack. `stack`: memory from the place's stack pointer on; empty if it could not be
  // read. `own`: the number of kernel frames, from the leaf on, that belong to tracing.
  void put_place(const sdk::Records& records, const Whose& whose, const off_place& place,
                 std::span<const std::uint8_t> stack, std::uint64_t weight, std::size_t own = 0);
  // Does the same with a user part that a program walked.
  void put_walked(const sdk::Records& records, const Whose& whose, const off_place& place,
                  const WalkedFrames& walked, std::uint64_t weight, std::size_t own = 0);
  // Writes the waiting time that is charged to no stack.
  void put_rest(const sdk::Records& records, const Whose& whose, std::uint64_t weight) const;
  void put_numbers(const sdk::Records& records, const Whose& whose, const Happened& happened) const;
  void put_process(const sdk::Records& records, const off_process& process);

 private:
  // The memory of the process at its previous record.
  struct Memory {
    std::uint64_t space = 0, code = 0;
  };

  void follow_memory(const sdk::Records& records, const off_who& who, const off_place& place);
  void put_weight(const sdk::Records& records, const Whose& whose, std::uint32_t offer,
                  std::uint64_t weight, ctprof_record_flags flags = 0) const;
  sdk::Record record_of(const Whose& whose, std::uint32_t offer, std::uint64_t weight) const;

  const Clocks& clocks_;
  std::uint64_t ns_per_tick_;
  std::uint64_t to_boottime_ns_;
  std::size_t most_frames_;  // of the kernel part: a stack of this depth may be truncated
  std::unordered_map<std::uint32_t, Memory> memory_;  // by tgid
};

}  // namespace ctprof::off_cpu
