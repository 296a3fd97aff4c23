// Reads the events of all CPUs, and delivers the records of their rings in the order of time.
//
// drain() merges the rings, oldest record first, and stops shortly before the current time.
// Therefore a program's mappings are reported before the samples that need them, and a deferred
// user part follows its sample, regardless of their CPUs. After stop() it reads to the end. Missed
// samples are counted: the clock determines how many there should be.
//
// A CPU that goes offline loses its event; when it is back it gets a new one. This is checked four
// times a second, and reported as a loss, with the time. Mappings of processes on that CPU during
// this time, or in records that a full ring lost, are not reported. The mappings of processes that
// are sampled afterwards must be read again.
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
  Sampler(std::unique_ptr<KernelInput> input, const Sampling& sampling, std::size_t ring_bytes);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Opens and starts an event for each online CPU. Throws on failure.
  void start();
  void drain(const sdk::Records& records);
  // Marks the end of a window. The next drain also counts losses that continue at that time: by a
  // full ring, by a throttled or an offline CPU. Later losses belong to the next window.
  void end_window() { has_window_ended_ = true; }
  void stop();
  // Returns the size of the smallest ring that the kernel allowed.
  std::size_t ring_bytes() const { return ring_bytes_; }

 private:
  struct Cpu;
  // The record at the front of a CPU's ring.
  struct QueuedRecord {
    std::uint64_t time_ns;
    Cpu* cpu;
  };

  Cpu& find_cpu(int number);
  bool open(Cpu& cpu);
  void update_boottime_offset();
  void queue_record(Cpu& cpu);
  void process_until(const sdk::Records& records, std::uint64_t until_ns);
  void process_record(const sdk::Records& records, Cpu& cpu, Bytes record, std::uint64_t time_ns);
  void process_sample(const sdk::Records& records, Cpu& cpu, Bytes record, std::uint64_t time_ns);
  void mark_mappings_unknown();
  void request_mappings(const sdk::Records& records, std::uint32_t tgid, std::uint64_t at_ns);
  void process_deferred(const sdk::Records& records, Bytes record);
  void give_up(const sdk::Records& records, const PendingSamples::WaitingSample& waiting) const;
  void report_loss(const sdk::Records& records, const Cpu& cpu, ctprof_loss_kind kind,
                   std::uint64_t from_ns, std::uint64_t until_ns, std::uint64_t count) const;
  void end_throttling(const sdk::Records& records, Cpu& cpu, std::uint64_t time_ns) const;
  void end_offline(const sdk::Records& records, Cpu& cpu, std::uint64_t time_ns) const;
  void vary_period(Cpu& cpu);
  void request_table(const MissingTable& missed) const;
  void process_lost(const sdk::Records& records, Cpu& cpu, std::uint64_t count,
                    std::uint64_t time_ns);
  void split_losses(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const;
  void check_cpus(const sdk::Records& records, std::uint64_t now_ns);
  bool is_event_running(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const;
  void close(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns);
  void count_missed(const sdk::Records& records, Cpu& cpu, const Counts& counts) const;
  void report_final_losses(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const;

  std::unique_ptr<KernelInput> input_;
  Sampling sampling_;
  std::size_t ring_bytes_;
  std::vector<std::unique_ptr<Cpu>> cpus_;
  std::vector<QueuedRecord> record_heap_;  // a heap with the next record of each ring that has one
  std::optional<PendingSamples> pending_;
  bool has_unknown_mappings_ = false;  // whether records of mappings may have been lost
  std::unordered_set<std::uint32_t> requested_tgids_;  // processes whose mappings were requested
                                                       // again since
  std::uint64_t boottime_offset_ns_ = 0;  // offset of CLOCK_BOOTTIME from CLOCK_MONOTONIC
  std::uint64_t last_cpu_check_ns_ = 0;   // time of the last check of CPUs, on CLOCK_MONOTONIC
  bool has_window_ended_ = false;
  bool is_stopped_ = false;
  bool has_reported_final_losses_ = false;  // whether the final losses were reported
  bool can_vary_period_ = true;             // whether the kernel permits changes of the period
};

}  // namespace ctprof::on_cpu
