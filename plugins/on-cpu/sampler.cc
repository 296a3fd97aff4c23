#include "plugins/on-cpu/sampler.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "ctprof/files.hpp"
#include "plugins/on-cpu/event.hpp"
#include "plugins/on-cpu/record_writer.hpp"
#include "plugins/on-cpu/records.hpp"

namespace ctprof::on_cpu {
namespace {

// The time of a record is slightly before the record can be read, because an interrupt may occur in
// between.
constexpr std::uint64_t kSettleNs = 2'000'000;
constexpr std::uint64_t kSuspendThresholdNs = 100'000'000;
// Ticks by which the busy time of a CPU may exceed its samples before a tick counts as missed.
constexpr std::uint64_t kTickTolerance = 2;
// Tolerance of idle time, which has a resolution of a hundredth of a second and is the sum of two
// values.
constexpr std::uint64_t kIdleToleranceNs = 20'000'000;
constexpr std::uint64_t kCpuCheckIntervalNs = 250'000'000;
constexpr std::size_t kMaxPending = 1024;
// Number of records after which the read part is released, because the kernel continues to write.
constexpr std::uint64_t kReleaseInterval = 64;

Sample make_sample(const PendingSamples::WaitingSample& waiting) {
  Sample sample;
  sample.tgid = waiting.tgid;
  sample.tid = waiting.tid;
  sample.kernel = waiting.kernel;
  sample.deferred = waiting.number;
  sample.weight_ns = waiting.weight_ns;
  return sample;
}

}  // namespace

struct Sampler::Cpu {
  Cpu(int cpu, const Sampling& sampling)
      : number(cpu), clock(sampling.period_ns(), std::random_device()()) {}

  int number;
  TickClock clock;
  std::unique_ptr<CpuEvent> event;       // null while it is offline
  Ring* ring = nullptr;                  // the ring of `event`
  std::uint64_t last_enabled_ns = 0;     // duration of sampling at the last check
  std::uint64_t last_ns = 0;             // time of the last record; CLOCK_MONOTONIC, like all
                                         // times here
  std::uint64_t record_count = 0;        // number of records of any type
  std::uint64_t idle_ns = 0;             // idle time before sampling began
  std::uint64_t sampled_ns = 0;          // time that samples of this event represent
  std::uint64_t lost = 0;                // lost samples of this event that are known
  std::uint64_t lost_counted_early = 0;  // the part of `lost` whose LOST records were not read yet
  std::uint64_t missed_count = 0;        // missed samples of this event that are known
  std::uint64_t throttled_since_ns = 0;  // 0: not throttled
  std::uint64_t offline_since_ns = 0;
};

Sampler::Sampler(std::unique_ptr<KernelInput> input, const Sampling& sampling,
                 std::size_t ring_bytes)
    : input_(std::move(input)), sampling_(sampling), ring_bytes_(ring_bytes) {
  if (sampling_.defers_user_chains) pending_.emplace(kMaxPending, sampling_.depth);
  // With a frequency, the kernel varies the period itself.
  can_vary_period_ = !sampling_.uses_cycles;
}

Sampler::~Sampler() = default;

void Sampler::start() {
  for (const int number : input_->online_cpus()) open(find_cpu(number));
  if (std::ranges::none_of(cpus_, [](const auto& cpu) { return cpu->event != nullptr; }))
    throw std::runtime_error("on-cpu: the list of online CPUs cannot be read");
  record_heap_.reserve(cpus_.size());
  for (const auto& cpu : cpus_)
    if (cpu->event) cpu->event->start();
  last_cpu_check_ns_ = input_->now_ns(CLOCK_MONOTONIC);
}

// Opens an event. Returns false if the CPU is offline; throws on other errors. If the kernel does
// not attach the walking program, all samples are copies from then on.
bool Sampler::open(Cpu& cpu) {
  int error = input_->open(sampling_, cpu.number, ring_bytes_, cpu.event);
  if (error != 0 && error != ENODEV && sampling_.walk) {
    sampling_.walk.reset();
    error = input_->open(sampling_, cpu.number, ring_bytes_, cpu.event);
  }
  if (error == ENODEV) return false;
  if (error != 0)
    throw std::runtime_error("on-cpu: sampling CPU " + std::to_string(cpu.number) + ": " +
                             std::strerror(error));
  cpu.ring = &cpu.event->ring();
  cpu.last_ns = input_->now_ns(CLOCK_MONOTONIC);
  cpu.last_enabled_ns = cpu.sampled_ns = cpu.lost = cpu.missed_count = cpu.throttled_since_ns = 0;
  cpu.lost_counted_early = 0;
  cpu.idle_ns = input_->idle_ns(cpu.number);
  ring_bytes_ = std::min(ring_bytes_, cpu.ring->size());
  return true;
}

void Sampler::stop() {
  for (const auto& cpu : cpus_)
    if (cpu->event) cpu->event->stop();
  is_stopped_ = true;
}

void Sampler::drain(const sdk::Records& records) {
  const std::uint64_t now = input_->now_ns(CLOCK_MONOTONIC);
  update_boottime_offset();
  process_until(records, is_stopped_ ? UINT64_MAX : now - kSettleNs);
  if (sampling_.walk && !is_stopped_) sampling_.walk->exchange(records);
  for (const auto& cpu : cpus_)
    if (can_vary_period_ && !is_stopped_ && cpu->event && cpu->clock.is_period_due())
      vary_period(*cpu);
  const bool window_ends = std::exchange(has_window_ended_, false) && !is_stopped_;
  if (!is_stopped_ && (window_ends || now - last_cpu_check_ns_ >= kCpuCheckIntervalNs))
    check_cpus(records, now);
  if (window_ends)
    for (const auto& cpu : cpus_) split_losses(records, *cpu, now);
  if (!is_stopped_ || has_reported_final_losses_) return;
  has_reported_final_losses_ = true;
  if (pending_) pending_->give_up_all([&](const auto& waiting) { give_up(records, waiting); });
  for (const auto& cpu : cpus_) report_final_losses(records, *cpu, now);
}

// Follows the difference of two clocks, which cannot be read at the same time. Only a suspend
// changes it; smaller deviations are ignored, because they would disturb the order of records.
void Sampler::update_boottime_offset() {
  std::uint64_t smallest_difference = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t monotonic = input_->now_ns(CLOCK_MONOTONIC);
    smallest_difference = std::min(smallest_difference, input_->now_ns(CLOCK_BOOTTIME) - monotonic);
  }
  if (boottime_offset_ns_ == 0 || smallest_difference > boottime_offset_ns_ + kSuspendThresholdNs)
    boottime_offset_ns_ = smallest_difference;
}

// If an interrupt wrote a sample between the time of a record and its writing, the record gets the
// later time.
void Sampler::queue_record(Cpu& cpu) {
  const Bytes record = cpu.ring->record();
  if (record.empty()) return;
  record_heap_.push_back({std::max(read_time(record), cpu.last_ns), &cpu});
  std::ranges::push_heap(record_heap_, std::greater(), &QueuedRecord::time_ns);
}

void Sampler::process_until(const sdk::Records& records, std::uint64_t until_ns) {
  record_heap_.clear();
  for (const auto& cpu : cpus_) {
    if (!cpu->event) continue;
    cpu->event->look_for_records();
    queue_record(*cpu);
  }
  while (!record_heap_.empty() && record_heap_.front().time_ns <= until_ns) {
    std::ranges::pop_heap(record_heap_, std::greater(), &QueuedRecord::time_ns);
    const auto [time_ns, cpu] = record_heap_.back();
    record_heap_.pop_back();
    Ring& ring = *cpu->ring;
    process_record(records, *cpu, ring.record(), time_ns);
    ring.skip();
    if (++cpu->record_count % kReleaseInterval == 0) ring.release();
    queue_record(*cpu);
  }
  for (const auto& cpu : cpus_)
    if (cpu->event) cpu->ring->release();
}

void Sampler::process_record(const sdk::Records& records, Cpu& cpu, Bytes record,
                             std::uint64_t time_ns) {
  const std::uint64_t at_ns = time_ns + boottime_offset_ns_;
  switch (read_header(record).type) {
    case PERF_RECORD_SAMPLE:
      if (const auto missed = sampling_.copies_stacks() ? parse_missed(record) : std::nullopt)
        request_table(*missed);
      else
        process_sample(records, cpu, record, time_ns);
      break;
    case kRecordDeferred: process_deferred(records, record); break;
    case PERF_RECORD_LOST: process_lost(records, cpu, parse_lost_count(record), time_ns); break;
    case PERF_RECORD_THROTTLE: cpu.throttled_since_ns = time_ns; break;
    case PERF_RECORD_UNTHROTTLE: end_throttling(records, cpu, time_ns); break;
    case PERF_RECORD_MMAP2:
      if (const auto mapped = sampling_.walk ? parse_mapped(record) : std::nullopt)
        sampling_.walk->add_path(*mapped);
      [[fallthrough]];
    default: write_change(records, record, at_ns);
  }
  cpu.last_ns = time_ns;
}

// Without a walk, the program still runs on CPUs where it was attached before it failed on another
// one. Its requests are not samples.
void Sampler::request_table(const MissingTable& missed) const {
  if (sampling_.walk) sampling_.walk->add_miss(missed);
}

// Counts lost records, except those that the end of an earlier window has already counted.
void Sampler::process_lost(const sdk::Records& records, Cpu& cpu, std::uint64_t count,
                           std::uint64_t time_ns) {
  mark_mappings_unknown();
  const std::uint64_t counted_early = std::min(count, cpu.lost_counted_early);
  cpu.lost_counted_early -= counted_early;
  if (count == counted_early && count > 0) return;
  cpu.lost += count - counted_early;
  report_loss(records, cpu, CTPROF_LOSS_FULL, cpu.last_ns, time_ns, count - counted_early);
}

// Splits continuing losses at the end of a window. If the kernel does not count the losses of a
// ring, the ring's LOST record comes later, and counts in the next window.
void Sampler::split_losses(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const {
  const bool is_throttled = cpu.throttled_since_ns != 0, is_offline = cpu.offline_since_ns != 0;
  end_throttling(records, cpu, now_ns);
  end_offline(records, cpu, now_ns);
  if (is_throttled) cpu.throttled_since_ns = now_ns;
  if (is_offline) cpu.offline_since_ns = now_ns;
  const auto counts = cpu.event && sampling_.counts_lost ? cpu.event->counts() : std::nullopt;
  if (!counts || counts->lost <= cpu.lost) return;
  const std::uint64_t counted_early = counts->lost - cpu.lost;
  report_loss(records, cpu, CTPROF_LOSS_FULL, cpu.last_ns, now_ns, counted_early);
  cpu.lost += counted_early;
  cpu.lost_counted_early += counted_early;
}

// Takes a sample. The kernel writes the id -1 for a thread that has almost exited, or that is in no
// PID namespace of ours.
void Sampler::process_sample(const sdk::Records& records, Cpu& cpu, Bytes record,
                             std::uint64_t time_ns) {
  constexpr std::uint32_t kNoId = UINT32_MAX;
  const std::uint64_t at_ns = time_ns + boottime_offset_ns_;
  auto sample = parse_sample(record, sampling_.copies_stacks());
  const std::uint64_t weight_ns = cpu.clock.compute_tick_weight(time_ns);
  if (sample && sample->tgid == 0) return;
  cpu.sampled_ns += weight_ns;
  if (!sample || sample->tgid == kNoId || sample->tid == kNoId) return records.count_unseen(1);
  sample->weight_ns = weight_ns;
  const bool has_user = sampling_.copies_stacks()
                            ? sample->registers.has_value() || sample->walked_frames.has_value()
                            : !sample->user.empty() || sample->deferred.has_value();
  if (has_user) request_mappings(records, sample->tgid, at_ns);
  if (sample->deferred && pending_)
    return pending_->add(*sample, at_ns, [&](const auto& waiting) { give_up(records, waiting); });
  write_sample(records, *sample, sampling_, at_ns);
}

// Mappings and execs during a loss were not reported.
void Sampler::mark_mappings_unknown() {
  has_unknown_mappings_ = true;
  requested_tgids_.clear();
}

void Sampler::request_mappings(const sdk::Records& records, std::uint32_t tgid,
                               std::uint64_t at_ns) {
  if (!has_unknown_mappings_ || !requested_tgids_.insert(tgid).second) return;
  ctprof_change change{};
  change.kind = CTPROF_CHANGE_REMAPPED;
  change.tgid = tgid;
  change.at_ns = at_ns;
  records.put(change);
}

void Sampler::process_deferred(const sdk::Records& records, Bytes record) {
  const auto deferred = parse_deferred(record);
  if (!deferred || !pending_) return;
  pending_->complete(*deferred, [&](const PendingSamples::WaitingSample& waiting) {
    Sample sample = make_sample(waiting);
    sample.user = deferred->user;
    write_sample(records, sample, sampling_, waiting.at_ns);
  });
}

void Sampler::give_up(const sdk::Records& records,
                      const PendingSamples::WaitingSample& waiting) const {
  write_sample(records, make_sample(waiting), sampling_, waiting.at_ns);
}

void Sampler::report_loss(const sdk::Records& records, const Cpu& cpu, ctprof_loss_kind kind,
                          std::uint64_t from_ns, std::uint64_t until_ns,
                          std::uint64_t count) const {
  ctprof_loss loss{};
  loss.kind = kind;
  loss.cpu = static_cast<std::uint32_t>(cpu.number);
  loss.from_ns = from_ns + boottime_offset_ns_;
  loss.until_ns = std::max(from_ns, until_ns) + boottime_offset_ns_;
  loss.count = count;
  records.lose(loss);
}

void Sampler::end_throttling(const sdk::Records& records, Cpu& cpu, std::uint64_t time_ns) const {
  if (cpu.throttled_since_ns == 0) return;
  const std::uint64_t missed = (time_ns - cpu.throttled_since_ns) / sampling_.period_ns();
  report_loss(records, cpu, CTPROF_LOSS_THROTTLED, cpu.throttled_since_ns, time_ns, missed);
  cpu.missed_count += missed;
  cpu.throttled_since_ns = 0;
}

void Sampler::end_offline(const sdk::Records& records, Cpu& cpu, std::uint64_t time_ns) const {
  if (cpu.offline_since_ns == 0) return;
  report_loss(records, cpu, CTPROF_LOSS_OFFLINE, cpu.offline_since_ns, time_ns,
              (time_ns - cpu.offline_since_ns) / sampling_.period_ns());
  cpu.offline_since_ns = 0;
}

// Returns whether the event continues. An event whose enabled time does not advance has lost its
// CPU, even if that is online again. REQUIRES: records were taken until kSettleNs before `now_ns`.
bool Sampler::is_event_running(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const {
  auto counts = cpu.event->counts();
  if (!counts || counts->enabled_ns == std::exchange(cpu.last_enabled_ns, counts->enabled_ns))
    return false;
  if (!sampling_.counts_lost) return true;  // losses may not be reported yet
  const std::uint64_t unread_ns = input_->now_ns(CLOCK_MONOTONIC) - now_ns + kSettleNs;
  counts->enabled_ns -= std::min(counts->enabled_ns, unread_ns);
  count_missed(records, cpu, *counts);
  return true;
}

// Counts missed ticks. The clock ticks once per period, and irregularly on idle CPUs. A tick is
// missed on a busy CPU if the hypervisor took the CPU from this guest, or if interrupts were
// disabled.
void Sampler::count_missed(const sdk::Records& records, Cpu& cpu, const Counts& counts) const {
  if (sampling_.uses_cycles || sampling_.filter) return;
  const std::uint64_t idle = input_->idle_ns(cpu.number) - cpu.idle_ns + kIdleToleranceNs;
  const std::uint64_t lost = std::max(cpu.lost, counts.lost);
  const std::uint64_t period = sampling_.period_ns();
  const std::uint64_t accounted_ns =
      cpu.sampled_ns + (lost + cpu.missed_count + kTickTolerance) * period;
  const std::uint64_t busy = counts.enabled_ns - std::min(counts.enabled_ns, idle);
  if (busy < accounted_ns + period) return;
  const std::uint64_t missed = (busy - accounted_ns) / period;
  cpu.missed_count += missed;
  records.count_unseen(missed);
}

void Sampler::vary_period(Cpu& cpu) {
  const std::uint64_t period = cpu.clock.draw_period();
  if (cpu.event->set_period(period) == 0)
    cpu.clock.set_period(input_->now_ns(CLOCK_MONOTONIC), period);
  else
    can_vary_period_ = false;
}

void Sampler::check_cpus(const sdk::Records& records, std::uint64_t now_ns) {
  last_cpu_check_ns_ = now_ns;
  for (const auto& cpu : cpus_)
    if (cpu->event && !is_event_running(records, *cpu, now_ns)) close(records, *cpu, now_ns);
  for (const int number : input_->online_cpus()) {
    Cpu& cpu = find_cpu(number);
    if (cpu.event || !open(cpu)) continue;
    cpu.event->start();
    end_offline(records, cpu, now_ns);
    mark_mappings_unknown();
  }
}

Sampler::Cpu& Sampler::find_cpu(int number) {
  const auto cpu_entry =
      std::ranges::find(cpus_, number, [](const auto& cpu) { return cpu->number; });
  if (cpu_entry != cpus_.end()) return **cpu_entry;
  cpus_.push_back(std::make_unique<Cpu>(number, sampling_));
  return *cpus_.back();
}

// Closes the event of an offline CPU, after it read the rest of its ring.
void Sampler::close(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) {
  Ring& ring = *cpu.ring;
  for (cpu.event->look_for_records(); !ring.record().empty(); ring.skip())
    process_record(records, cpu, ring.record(), read_time(ring.record()));
  report_final_losses(records, cpu, now_ns);
  cpu.event.reset();
  cpu.offline_since_ns = cpu.last_ns;
}

// Adds losses that the kernel could not report because the ring remained full, and missed samples.
void Sampler::report_final_losses(const sdk::Records& records, Cpu& cpu,
                                  std::uint64_t now_ns) const {
  end_throttling(records, cpu, now_ns);
  end_offline(records, cpu, now_ns);
  const auto counts = cpu.event ? cpu.event->counts() : std::nullopt;
  if (!counts) return;
  if (counts->lost > cpu.lost) {
    report_loss(records, cpu, CTPROF_LOSS_FULL, cpu.last_ns, now_ns, counts->lost - cpu.lost);
    cpu.lost = counts->lost;
  }
  count_missed(records, cpu, *counts);
  records.count_lost(cpu.ring->invalid_count());
}

}  // namespace ctprof::on_cpu
