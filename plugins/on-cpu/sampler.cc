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
#include "plugins/on-cpu/handover.hpp"
#include "plugins/on-cpu/records.hpp"

namespace ctprof::on_cpu {
namespace {

// A record gets its time slightly before it is readable; an interrupt may occur in between.
constexpr std::uint64_t kNotYetNs = 2'000'000;
constexpr std::uint64_t kSleptNs = 100'000'000;
// Tolerance, in ticks, between a time and the samples up to that time.
constexpr std::uint64_t kUnevenTicks = 2;
// Tolerance of idle time, which has a resolution of a hundredth of a second and is the sum of two
// values.
constexpr std::uint64_t kUnevenNs = 20'000'000;
constexpr std::uint64_t kLookEveryNs = 250'000'000;
constexpr std::size_t kMostPending = 1024;
// Number of records after which the read part is released, because the kernel continues to write.
constexpr std::uint64_t kGiveBackEvery = 64;

Sample sample_of(const Pending::Waiting& waiting) {
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
  Cpu(int cpu, const Sampling& how) : number(cpu), clock(how.period_ns(), std::random_device()()) {}

  int number;
  TickClock clock;
  std::unique_ptr<CpuEvent> event;       // null while it is offline
  Ring* ring = nullptr;                  // the ring of `event`
  std::uint64_t counted_ns = 0;          // duration of sampling at the last check
  std::uint64_t last_ns = 0;             // time of the last record; CLOCK_MONOTONIC, like all
                                         // times here
  std::uint64_t taken = 0;               // number of records of any type
  std::uint64_t idle_ns = 0;             // idle time before sampling began
  std::uint64_t sampled_ns = 0;          // time that samples of this event represent
  std::uint64_t lost = 0;                // lost samples of this event that are known
  std::uint64_t lost_ahead = 0;          // the part of `lost` whose LOST records were not read yet
  std::uint64_t missed = 0;              // missed samples of this event that are known
  std::uint64_t throttled_since_ns = 0;  // 0: not throttled
  std::uint64_t offline_since_ns = 0;
};

Sampler::Sampler(std::unique_ptr<KernelInput> input, const Sampling& how, std::size_t ring_bytes)
    : input_(std::move(input)), how_(how), ring_bytes_(ring_bytes) {
  if (how_.defers) pending_.emplace(kMostPending, how_.depth);
  varies_ = !how_.by_cycles;  // with a frequency, the kernel varies the period itself
}

Sampler::~Sampler() = default;

void Sampler::start() {
  for (const int number : input_->online_cpus()) open(cpu_of(number));
  if (std::ranges::none_of(cpus_, [](const auto& cpu) { return cpu->event != nullptr; }))
    throw std::runtime_error("on-cpu: the list of online CPUs cannot be read");
  next_.reserve(cpus_.size());
  for (const auto& cpu : cpus_)
    if (cpu->event) cpu->event->start();
  looked_ns_ = input_->now_ns(CLOCK_MONOTONIC);
}

// Opens an event. Returns false if the CPU is offline; throws on other errors. If the kernel does
// not attach the walking program, all samples are copies from then on.
bool Sampler::open(Cpu& cpu) {
  int failed = input_->open(how_, cpu.number, ring_bytes_, cpu.event);
  if (failed != 0 && failed != ENODEV && how_.walk) {
    how_.walk.reset();
    failed = input_->open(how_, cpu.number, ring_bytes_, cpu.event);
  }
  if (failed == ENODEV) return false;
  if (failed != 0)
    throw std::runtime_error("on-cpu: sampling CPU " + std::to_string(cpu.number) + ": " +
                             std::strerror(failed));
  cpu.ring = &cpu.event->ring();
  cpu.last_ns = input_->now_ns(CLOCK_MONOTONIC);
  cpu.counted_ns = cpu.sampled_ns = cpu.lost = cpu.missed = cpu.throttled_since_ns = 0;
  cpu.lost_ahead = 0;
  cpu.idle_ns = input_->idle_ns(cpu.number);
  ring_bytes_ = std::min(ring_bytes_, cpu.ring->size());
  return true;
}

void Sampler::stop() {
  for (const auto& cpu : cpus_)
    if (cpu->event) cpu->event->stop();
  stopped_ = true;
}

void Sampler::drain(const sdk::Records& records) {
  const std::uint64_t now = input_->now_ns(CLOCK_MONOTONIC);
  follow_boottime();
  take_until(records, stopped_ ? UINT64_MAX : now - kNotYetNs);
  if (how_.walk && !stopped_) how_.walk->exchange(records);
  for (const auto& cpu : cpus_)
    if (varies_ && !stopped_ && cpu->event && cpu->clock.is_due()) vary_period(*cpu);
  const bool window_ends = std::exchange(window_ends_, false) && !stopped_;
  if (!stopped_ && (window_ends || now - looked_ns_ >= kLookEveryNs)) look_at_cpus(records, now);
  if (window_ends)
    for (const auto& cpu : cpus_) close_losses(records, *cpu, now);
  if (!stopped_ || settled_) return;
  settled_ = true;
  if (pending_) pending_->give_up_all([&](const auto& waiting) { give_up(records, waiting); });
  for (const auto& cpu : cpus_) settle_account(records, *cpu, now);
}

// Follows the difference of two clocks, which cannot be read at the same time. Only a suspend
// changes it; smaller deviations are ignored, because they would disturb the order of records.
void Sampler::follow_boottime() {
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t monotonic = input_->now_ns(CLOCK_MONOTONIC);
    least = std::min(least, input_->now_ns(CLOCK_BOOTTIME) - monotonic);
  }
  if (to_boottime_ns_ == 0 || least > to_boottime_ns_ + kSleptNs) to_boottime_ns_ = least;
}

// If an interrupt wrote a sample between the time of a record and its writing, the record gets the
// later time.
void Sampler::push_next(Cpu& cpu) {
  const Bytes record = cpu.ring->record();
  if (record.empty()) return;
  next_.push_back({std::max(time_of(record), cpu.last_ns), &cpu});
  std::ranges::push_heap(next_, std::greater(), &Next::time_ns);
}

void Sampler::take_until(const sdk::Records& records, std::uint64_t until_ns) {
  next_.clear();
  for (const auto& cpu : cpus_) {
    if (!cpu->event) continue;
    cpu->event->look();
    push_next(*cpu);
  }
  while (!next_.empty() && next_.front().time_ns <= until_ns) {
    std::ranges::pop_heap(next_, std::greater(), &Next::time_ns);
    const auto [time_ns, cpu] = next_.back();
    next_.pop_back();
    Ring& ring = *cpu->ring;
    take(records, *cpu, ring.record(), time_ns);
    ring.skip();
    if (++cpu->taken % kGiveBackEvery == 0) ring.give_back();
    push_next(*cpu);
  }
  for (const auto& cpu : cpus_)
    if (cpu->event) cpu->ring->give_back();
}

void Sampler::take(const sdk::Records& records, Cpu& cpu, Bytes record, std::uint64_t time_ns) {
  const std::uint64_t at_ns = time_ns + to_boottime_ns_;
  switch (header_of(record).type) {
    case PERF_RECORD_SAMPLE:
      if (const auto missed = how_.copies() ? missed_of(record) : std::nullopt)
        note_missed(*missed);
      else
        take_sample(records, cpu, record, time_ns);
      break;
    case kRecordDeferred: take_deferred(records, record); break;
    case PERF_RECORD_LOST: take_lost(records, cpu, lost_of(record), time_ns); break;
    case PERF_RECORD_THROTTLE: cpu.throttled_since_ns = time_ns; break;
    case PERF_RECORD_UNTHROTTLE: end_throttling(records, cpu, time_ns); break;
    case PERF_RECORD_MMAP2:
      if (const auto mapped = how_.walk ? mapped_of(record) : std::nullopt)
        how_.walk->note(*mapped);
      [[fallthrough]];
    default: put_change(records, record, at_ns);
  }
  cpu.last_ns = time_ns;
}

// Without a walk, the program still runs on CPUs where it was attached before it failed on another
// one. Its requests are not samples.
void Sampler::note_missed(const Missed& missed) const {
  if (how_.walk) how_.walk->note(missed);
}

// Counts lost records, except those that the end of an earlier window has already counted.
void Sampler::take_lost(const sdk::Records& records, Cpu& cpu, std::uint64_t count,
                        std::uint64_t time_ns) {
  doubt_mappings();
  const std::uint64_t ahead = std::min(count, cpu.lost_ahead);
  cpu.lost_ahead -= ahead;
  if (count == ahead && count > 0) return;
  cpu.lost += count - ahead;
  lose(records, cpu, CTPROF_LOSS_FULL, cpu.last_ns, time_ns, count - ahead);
}

// Splits continuing losses at the end of a window. If the kernel does not count the losses of a
// ring, the ring's LOST record comes later, and counts in the next window.
void Sampler::close_losses(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const {
  const bool is_throttled = cpu.throttled_since_ns != 0, is_offline = cpu.offline_since_ns != 0;
  end_throttling(records, cpu, now_ns);
  end_offline(records, cpu, now_ns);
  if (is_throttled) cpu.throttled_since_ns = now_ns;
  if (is_offline) cpu.offline_since_ns = now_ns;
  const auto counts = cpu.event && how_.counts_lost ? cpu.event->counts() : std::nullopt;
  if (!counts || counts->lost <= cpu.lost) return;
  const std::uint64_t ahead = counts->lost - cpu.lost;
  lose(records, cpu, CTPROF_LOSS_FULL, cpu.last_ns, now_ns, ahead);
  cpu.lost += ahead;
  cpu.lost_ahead += ahead;
}

// Takes a sample. The kernel writes the id -1 for a thread that has almost exited, or that is in no
// PID namespace of ours.
void Sampler::take_sample(const sdk::Records& records, Cpu& cpu, Bytes record,
                          std::uint64_t time_ns) {
  constexpr std::uint32_t kNobody = UINT32_MAX;
  const std::uint64_t at_ns = time_ns + to_boottime_ns_;
  auto sample = sample_of(record, how_.copies());
  const std::uint64_t weight_ns = cpu.clock.weight_of_tick(time_ns);
  if (sample && sample->tgid == 0) return;
  cpu.sampled_ns += weight_ns;
  if (!sample || sample->tgid == kNobody || sample->tid == kNobody) return records.count_unseen(1);
  sample->weight_ns = weight_ns;
  const bool has_user = how_.copies() ? sample->registers.has_value() || sample->walked.has_value()
                                      : !sample->user.empty() || sample->deferred.has_value();
  if (has_user) settle_doubt(records, sample->tgid, at_ns);
  if (sample->deferred && pending_)
    return pending_->keep(*sample, at_ns, [&](const auto& waiting) { give_up(records, waiting); });
  put_sample(records, *sample, how_, at_ns);
}

// Mappings and execs during a loss were not reported.
void Sampler::doubt_mappings() {
  doubts_ = true;
  read_since_.clear();
}

void Sampler::settle_doubt(const sdk::Records& records, std::uint32_t tgid, std::uint64_t at_ns) {
  if (!doubts_ || !read_since_.insert(tgid).second) return;
  ctprof_change change{};
  change.kind = CTPROF_CHANGE_REMAPPED;
  change.tgid = tgid;
  change.at_ns = at_ns;
  records.put(change);
}

void Sampler::take_deferred(const sdk::Records& records, Bytes record) {
  const auto deferred = deferred_of(record);
  if (!deferred || !pending_) return;
  pending_->complete(*deferred, [&](const Pending::Waiting& waiting) {
    Sample sample = sample_of(waiting);
    sample.user = deferred->user;
    put_sample(records, sample, how_, waiting.at_ns);
  });
}

void Sampler::give_up(const sdk::Records& records, const Pending::Waiting& waiting) const {
  put_sample(records, sample_of(waiting), how_, waiting.at_ns);
}

void Sampler::lose(const sdk::Records& records, const Cpu& cpu, ctprof_loss_kind kind,
                   std::uint64_t from_ns, std::uint64_t until_ns, std::uint64_t count) const {
  ctprof_loss loss{};
  loss.kind = kind;
  loss.cpu = static_cast<std::uint32_t>(cpu.number);
  loss.from_ns = from_ns + to_boottime_ns_;
  loss.until_ns = std::max(from_ns, until_ns) + to_boottime_ns_;
  loss.count = count;
  records.lose(loss);
}

void Sampler::end_throttling(const sdk::Records& records, Cpu& cpu, std::uint64_t time_ns) const {
  if (cpu.throttled_since_ns == 0) return;
  const std::uint64_t missed = (time_ns - cpu.throttled_since_ns) / how_.period_ns();
  lose(records, cpu, CTPROF_LOSS_THROTTLED, cpu.throttled_since_ns, time_ns, missed);
  cpu.missed += missed;
  cpu.throttled_since_ns = 0;
}

void Sampler::end_offline(const sdk::Records& records, Cpu& cpu, std::uint64_t time_ns) const {
  if (cpu.offline_since_ns == 0) return;
  lose(records, cpu, CTPROF_LOSS_OFFLINE, cpu.offline_since_ns, time_ns,
       (time_ns - cpu.offline_since_ns) / how_.period_ns());
  cpu.offline_since_ns = 0;
}

// Returns whether the event continues. An event whose enabled time does not advance has lost its
// CPU, even if that is online again. REQUIRES: records were taken until kNotYetNs before `now_ns`.
bool Sampler::goes_on(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const {
  auto counts = cpu.event->counts();
  if (!counts || counts->enabled_ns == std::exchange(cpu.counted_ns, counts->enabled_ns))
    return false;
  if (!how_.counts_lost) return true;  // losses may not be reported yet
  const std::uint64_t not_taken_ns = input_->now_ns(CLOCK_MONOTONIC) - now_ns + kNotYetNs;
  counts->enabled_ns -= std::min(counts->enabled_ns, not_taken_ns);
  count_missed(records, cpu, *counts);
  return true;
}

// Counts missed ticks. The clock ticks once per period, and irregularly on idle CPUs. A tick is
// missed on a busy CPU if the hypervisor took the CPU from this guest, or if interrupts were
// disabled.
void Sampler::count_missed(const sdk::Records& records, Cpu& cpu, const Counts& counts) const {
  if (how_.by_cycles || how_.filter) return;
  const std::uint64_t idle = input_->idle_ns(cpu.number) - cpu.idle_ns + kUnevenNs;
  const std::uint64_t lost = std::max(cpu.lost, counts.lost);
  const std::uint64_t period = how_.period_ns();
  const std::uint64_t known = cpu.sampled_ns + (lost + cpu.missed + kUnevenTicks) * period;
  const std::uint64_t busy = counts.enabled_ns - std::min(counts.enabled_ns, idle);
  if (busy < known + period) return;
  const std::uint64_t missed = (busy - known) / period;
  cpu.missed += missed;
  records.count_unseen(missed);
}

void Sampler::vary_period(Cpu& cpu) {
  const std::uint64_t period = cpu.clock.draw_period();
  if (cpu.event->set_period(period) == 0)
    cpu.clock.changed(input_->now_ns(CLOCK_MONOTONIC), period);
  else
    varies_ = false;
}

void Sampler::look_at_cpus(const sdk::Records& records, std::uint64_t now_ns) {
  looked_ns_ = now_ns;
  for (const auto& cpu : cpus_)
    if (cpu->event && !goes_on(records, *cpu, now_ns)) close(records, *cpu, now_ns);
  for (const int number : input_->online_cpus()) {
    Cpu& cpu = cpu_of(number);
    if (cpu.event || !open(cpu)) continue;
    cpu.event->start();
    end_offline(records, cpu, now_ns);
    doubt_mappings();
  }
}

Sampler::Cpu& Sampler::cpu_of(int number) {
  const auto known = std::ranges::find(cpus_, number, [](const auto& cpu) { return cpu->number; });
  if (known != cpus_.end()) return **known;
  cpus_.push_back(std::make_unique<Cpu>(number, how_));
  return *cpus_.back();
}

// Closes the event of an offline CPU, after it read the rest of its ring.
void Sampler::close(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) {
  Ring& ring = *cpu.ring;
  for (cpu.event->look(); !ring.record().empty(); ring.skip())
    take(records, cpu, ring.record(), time_of(ring.record()));
  settle_account(records, cpu, now_ns);
  cpu.event.reset();
  cpu.offline_since_ns = cpu.last_ns;
}

// Adds losses that the kernel could not report because the ring remained full, and missed samples.
void Sampler::settle_account(const sdk::Records& records, Cpu& cpu, std::uint64_t now_ns) const {
  end_throttling(records, cpu, now_ns);
  end_offline(records, cpu, now_ns);
  const auto counts = cpu.event ? cpu.event->counts() : std::nullopt;
  if (!counts) return;
  if (counts->lost > cpu.lost) {
    lose(records, cpu, CTPROF_LOSS_FULL, cpu.last_ns, now_ns, counts->lost - cpu.lost);
    cpu.lost = counts->lost;
  }
  count_missed(records, cpu, *counts);
  records.count_lost(cpu.ring->torn());
}

}  // namespace ctprof::on_cpu
