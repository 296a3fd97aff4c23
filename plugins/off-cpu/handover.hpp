// Records and changes, as ctprof wants them, of what the programs told.
//
// Whose a record is, is said with the time as of which it is: a name goes to another thread when
// that takes its leader's place by exec.
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
  kOfferKinds,  // from here on a count and a time for each kind, as off_state has them
  kOffers = kOfferKinds + 2 * OFF_KINDS
};

struct Whose {
  off_who who;
  std::uint64_t at;  // on CLOCK_MONOTONIC
};

// Frames of user space, in words of CTPROF_USER_FRAMES.
struct WalkedFrames {
  std::span<const std::uint64_t> frames;
  bool is_deep = false;  // some are missing at the root
};

// How many addresses of the kernel the place has.
std::size_t kernel_frames(const off_place& place);

class Handover {
 public:
  // Reads `clocks` as long as it is there.
  Handover(const sdk::Host& host, const Clocks& clocks);

  // `stack`: memory from the place's stack pointer on; empty where it could not be read. `own`: so
  // many kernel frames, from the leaf on, are not the thread's.
  void put_place(const sdk::Records& records, const Whose& whose, const off_place& place,
                 std::span<const std::uint8_t> stack, std::uint64_t weight, std::size_t own = 0);
  // The same with a user part that a program walked.
  void put_walked(const sdk::Records& records, const Whose& whose, const off_place& place,
                  const WalkedFrames& walked, std::uint64_t weight, std::size_t own = 0);
  // Of the stacks, what is of none.
  void put_rest(const sdk::Records& records, const Whose& whose, std::uint64_t weight) const;
  void put_numbers(const sdk::Records& records, const Whose& whose, const Happened& happened) const;
  void put_process(const sdk::Records& records, const off_process& process);

 private:
  // What the process had mapped when it was last seen.
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
  std::size_t most_frames_;  // of the kernel's part: a stack of so many may go on
  std::unordered_map<std::uint32_t, Memory> memory_;  // by tgid
};

}  // namespace ctprof::off_cpu
