// on-cpu: samples where threads spend their time on CPUs: a stack, many times per second, on each
// CPU.
//
// Source: perf_event_open(2), an event for each CPU, read through rings. Each sample has the kernel
// part of the stack, and a user part: either registers and a copy of the stack's top, which ctprof
// unwinds, or the addresses that the kernel finds by frame pointers. Needs CAP_PERFMON, or
// kernel.perf_event_paranoid below 1; CAP_IPC_LOCK for large rings.
//
// Contents: the recorder, its defaults, the plugin's table.
// See also: event.hpp and ring.hpp for events and rings, sampler.hpp for reading them, probe.hpp
// for the probe.

#include <algorithm>
#include <bit>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "ctprof/plugin.hpp"
#include "plugins/on-cpu/event.hpp"
#include "plugins/on-cpu/kernel_walk.hpp"
#include "plugins/on-cpu/own_process_filter.hpp"
#include "plugins/on-cpu/probe.hpp"
#include "plugins/on-cpu/sampler.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::on_cpu {
namespace {

// Sizes of rings, for about one second of samples; and the limit for all CPUs together.
constexpr std::uint64_t kRingBytes = 8 << 20, kLargeRingBytes = 32 << 20, kMaxRingBytes = 512 << 20;
constexpr std::uint32_t kLargeRingMinHz = 1000;
constexpr std::uint64_t kSmallRingMaxCopiedBytes = 9 << 20;  // bytes per second

inline constexpr sdk::Metric<sdk::StackNs, sdk::StackSum> kOnCpuStacks{
    {.name = "oncpu_stacks",
     .section = "stacks",
     .source = "perf_event_open(2): cycles or cpu-clock",
     .description = "Sampled time on a CPU, by call stack.",
     .role = "running-stacks"}};
inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kOnCpuSamples{
    {.name = "oncpu_samples",
     .section = "stacks",
     .source = "perf_event_open(2): cycles or cpu-clock",
     .description = "Number of samples in which the thread ran on a CPU.",
     .file_path = "none"}};  // rows files contain no windows

Sampling make_sampling(const sdk::Host& host, const sdk::Window& window) {
  Sampling sampling;
  if (window.frequency_hz() > 0) sampling.frequency_hz = window.frequency_hz();
  sampling.depth = choose_chain_depth(window, max_stack_depth(host));
  sampling.stack_bytes = choose_copied_bytes(window, sampling.frequency_hz, false);
  return sampling;
}

std::size_t choose_ring_bytes(const sdk::Window& window, const Sampling& sampling,
                              std::size_t cpus) {
  const std::uint64_t copied_bytes_per_second = sampling.frequency_hz * sampling.stack_bytes;
  const bool is_small = sampling.frequency_hz < kLargeRingMinHz &&
                        copied_bytes_per_second <= kSmallRingMaxCopiedBytes;
  const std::uint64_t default_bytes = is_small ? kRingBytes : kLargeRingBytes;
  const std::uint64_t requested_bytes =
      window.ring_bytes() > 0 ? window.ring_bytes() : default_bytes;
  const std::uint64_t page = page_size();
  return std::bit_floor(std::clamp(requested_bytes, page, std::max(page, kMaxRingBytes / cpus)));
}

std::shared_ptr<const OwnProcessFilter> load_filter(const ElevatedUser& user) {
  int error = 0;
  auto filter = OwnProcessFilter::load(user, error);
  if (!filter) throw std::runtime_error(explain_filter_refusal(error).reason);
  return filter;
}

// Returns null if the kernel does not support it: then all samples are copies.
std::shared_ptr<KernelWalk> load_walk(const sdk::Window& window) {
  int error = 0;
  KernelWalk::Options options;
  if (window.depth() > 0) options.depth = window.depth();
  return KernelWalk::load(options, error);
}

std::string format_kib(std::size_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }

class OnCpu : public sdk::RecordSource {
 public:
  static constexpr auto kOffers = sdk::offers(kOnCpuStacks, kOnCpuSamples);

  explicit OnCpu(const sdk::Host& host) : host_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }

  void start(const sdk::Window& window) {
    const std::vector<int> cpus = read_online_cpus(host_);
    Sampling sampling = make_sampling(host_, window);
    if (const int failed = detect_features(sampling, cpus.empty() ? 0 : cpus.front()); failed != 0)
      throw std::runtime_error(explain_refusal(host_, failed).reason);
    if (const auto user = find_elevated_user()) sampling.filter = load_filter(*user);
    if (window.makes_tables() && sampling.copies_stacks() && !sampling.filter)
      sampling.walk = load_walk(window);
    walk_ = sampling.walk;
    sampling.stack_bytes = choose_copied_bytes(window, sampling.frequency_hz, walk_ != nullptr);
    if (walk_ && window.depth() > WALK_MAX_FRAMES)
      add_start_remark("on-cpu: stacks of more than " + std::to_string(WALK_MAX_FRAMES) +
                       " frames are not walked in the kernel but copied");
    const std::size_t requested_bytes =
        choose_ring_bytes(window, sampling, std::max<std::size_t>(1, cpus.size()));
    sampler_ =
        std::make_unique<Sampler>(std::make_unique<PerfEvents>(host_), sampling, requested_bytes);
    sampler_->start();
    if (sampler_->ring_bytes() < requested_bytes)
      add_start_remark(
          "on-cpu: rings have " + format_kib(sampler_->ring_bytes()) + " rather than " +
          format_kib(requested_bytes) +
          ", because more requires CAP_IPC_LOCK (kernel.perf_event_mlock_kb); they may overflow");
  }

  void drain(const sdk::Records& records) {
    sampler_->drain(records);
    if (std::exchange(has_window_ended_, false) && walk_) set_walk_remark(walk_->describe_window());
    if (std::exchange(has_new_remark_, false))
      records.remark(join_remarks(start_remark_, walk_remark_));
  }

  void window_ends() {
    sampler_->end_window();
    if (walk_) walk_->end_window();
    has_window_ended_ = true;
  }
  void stop() {
    sampler_->stop();
    has_window_ended_ = true;
  }

 private:
  void add_start_remark(const std::string& remark) {
    start_remark_ = join_remarks(start_remark_, remark);
    has_new_remark_ = true;
  }
  void set_walk_remark(std::string remark) {
    has_new_remark_ = has_new_remark_ || remark != walk_remark_;
    walk_remark_ = std::move(remark);
  }

  sdk::Host host_;
  std::unique_ptr<Sampler> sampler_;
  std::shared_ptr<KernelWalk> walk_;        // null: all samples are copies
  std::string start_remark_, walk_remark_;  // of the whole recording; of the last window
  bool has_new_remark_ = false;             // not passed to ctprof yet
  bool has_window_ended_ = false;           // whether a window ended since the last drain
};

constexpr sdk::Extra kExtra{.flags = CTPROF_PLUGIN_RECORDER};

}  // namespace
}  // namespace ctprof::on_cpu

CTPROF_PLUGIN_WITH("on-cpu", "1.0",
                   "Call stacks of the threads on each CPU, sampled by perf events.",
                   ctprof::on_cpu::kExtra, ctprof::on_cpu::OnCpu)
