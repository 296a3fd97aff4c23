// A perf event that samples one CPU into a ring of its own.
//
// Source: perf_event_open(2), `cycles` if the host has counters, otherwise `cpu-clock`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/on-cpu/kernel_input.hpp"

namespace ctprof::on_cpu {

// Returns the size of a memory page.
std::size_t page_size();

// Determines the features of this kernel, by opening events on that CPU. Returns 0, or the errno
// why it cannot sample at all.
int detect_features(Sampling& sampling, int cpu);

class Event final : public CpuEvent {
 public:
  // See KernelInput::open.
  static int open(const Sampling& sampling, int cpu, std::size_t ring_bytes,
                  std::unique_ptr<CpuEvent>& event);
  ~Event() override;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  int start() override;
  void stop() override;
  int set_period(std::uint64_t period_ns) override;
  Ring& ring() override { return *ring_; }
  void look_for_records() override { ring_->look_for_records(); }
  std::optional<Counts> counts() const override;

 private:
  Event() = default;
  int attach(const Sampling& sampling, int cpu);
  std::optional<Counts> read_counts(const sdk::Fd& event) const;

  sdk::Fd fd_;
  sdk::Fd output_;  // the event that a program writes with; invalid: there is no program
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::optional<Ring> ring_;
  bool counts_lost_ = false;
};

// Returns how far the monotonic clock of this process's time namespace is ahead of the kernel's,
// which perf events use for timestamps; 0 if the kernel has no time namespaces. `timens_offsets` is
// the text of /proc/self/timens_offsets: "monotonic SECONDS NANOSECONDS".
std::int64_t parse_monotonic_offset_ns(std::string_view timens_offsets);

// The events of this host. Its monotonic clock is that of the kernel, even in a time namespace.
class PerfEvents final : public KernelInput {
 public:
  explicit PerfEvents(const sdk::Host& host);

  std::uint64_t now_ns(clockid_t clock) const override;

  std::vector<int> online_cpus() override;
  std::uint64_t idle_ns(int cpu) override;
  int open(const Sampling& sampling, int cpu, std::size_t ring_bytes,
           std::unique_ptr<CpuEvent>& event) override {
    return Event::open(sampling, cpu, ring_bytes, event);
  }

 private:
  sdk::Host host_;
  std::int64_t monotonic_offset_ns_ = 0;
};

}  // namespace ctprof::on_cpu
