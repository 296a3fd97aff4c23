// The events of all CPUs, and what their rings hold, in the order of time.
//
// drain() goes through the rings side by side, oldest record first, and stops a little short of
// now: so a program's mappings are told before the samples that need them, and a user part that was
// deferred comes after its sample, whatever CPU either was written on. After stop() it goes to the
// end. Samples that never came are counted: the clock says how many there should be.
//
// A CPU that goes offline takes its event along; when it is back it gets a new one. That is looked
// for four times a second, and told as a loss, with the time. What processes mapped there until
// then, or what a full ring lost, nobody tells: those that are met afterwards are to be read anew.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "ctprof/records.hpp"
#include "plugins/on-cpu/cpus.hpp"
#include "plugins/on-cpu/kernel_input.hpp"
#include "plugins/on-cpu/pending.hpp"
#include "plugins/on-cpu/tick_clock.hpp"

namespace ctprof::on_cpu {

class Sampler {
 public:
  Sampler(std::unique_ptr<KernelInput> input, const Sampling& how, std::size_t ring_bytes);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Opens and starts an event for each CPU that is online. Throws where it cannot.
  void start();
  void drain(const sdk::Records& records);
  // A window ends. The next drain also counts what is being lost until then: by a full ring, a CPU
  // that is throttled or offline. What is lost later belongs to the next window.
  void end_window() { window_ends_ = true; }
  void stop();
  // Of the smallest ring that could be had.
  std::size_t ring_bytes() const { return ring_bytes_; }

 private:
  struct Cpu;
  // The record at the front of a CPU's ring.
  struct Next {
    std::uint64_t time_ns;
    Cpu* cpu;
  };

  Cpu& cpu_of(int number);
  bool open(Cpu& cpu);
  void follow_boottime();
  void push_next(Cpu& cpu);
  void take_until(const sdk::Records& records, std::uint64_t until_ns);
  void take(const sdk::Records& records, Cpu& cpu, Bytes record, std::uint64_t time_ns);
  void take_sample(const sdk::Records& records, Cpu& cpu, Bytes record, std::uint64_t time_ns);
  void doubt_mappings();
  void settle_doubt(const sdk::Records& records, std::uint32_t tgid, std::uint64_t at_ns);
  void take_deferred(const sdk::Records& records, Bytes record);
  void give_up(const sdk::Records& records, const Pending::Waiting& waiting) const;
  void lose(const sdk::Records& records, const Cpu& cpu, ctprof_loss_kind kind,
            std::uint64_t from_ns, std::uint64_t until_ns, std::uint64_t count) const;
  void end_throttling(const sdk::Records& records, Cpu& cpu, std::uint64_t time_ns) const;
  void end_offline(const sdk::Records& records, Cpu& cpu, std::uint64_t time_ns) const;
  void vary_period(Cpu& cpu);
  void note_missed(const Missed& missed) const;
  void take_lost(const sdk::Records& records, Cpu& cpu, std::uint64_t count, std::uint64_t time_ns);
  void close_losses(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const;
  void look_at_cpus(const sdk::Records& records, std::uint64_t now_ns);
  bool goes_on(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const;
  void close(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns);
  void count_missed(const sdk::Records& records, Cpu& cpu, const Counts& counts) const;
  void settle_account(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const;

  std::unique_ptr<KernelInput> input_;
  Sampling how_;
  std::size_t ring_bytes_;
  std::vector<std::unique_ptr<Cpu>> cpus_;
  std::vector<Next> next_;  // of each ring that has one, a heap
  std::optional<Pending> pending_;
  bool doubts_ = false;                           // records of mappings may have been missed
  std::unordered_set<std::uint32_t> read_since_;  // processes whose mappings are known again
  std::uint64_t to_boottime_ns_ = 0;              // of the monotonic clock
  std::uint64_t looked_ns_ = 0;  // when CPUs were looked at, on the monotonic clock
  bool window_ends_ = false;
  bool stopped_ = false;
  bool settled_ = false;  // what is missing at the end was told
  bool varies_ = true;    // whether the kernel lets us change periods
};

}  // namespace ctprof::on_cpu
