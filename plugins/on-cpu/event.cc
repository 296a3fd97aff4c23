#include "plugins/on-cpu/event.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <utility>

#include "plugins/on-cpu/cpus.hpp"
#include "plugins/on-cpu/kernel_walk.hpp"
#include "plugins/on-cpu/records.hpp"

namespace ctprof::on_cpu {
namespace {

constexpr std::uint64_t kFormatLost = 1u << 4;  // PERF_FORMAT_LOST

// Sets bits of the flag word of perf_event_attr, which follows read_format. The headers of the
// build may lack the newest bits.
void set_bits(perf_event_attr& attr, std::uint64_t bits) {
  constexpr std::size_t kFlagsOffset =
      offsetof(perf_event_attr, read_format) + sizeof attr.read_format;
  auto* word = reinterpret_cast<char*>(&attr) + kFlagsOffset;
  std::uint64_t value = 0;
  std::memcpy(&value, word, sizeof value);
  value |= bits;
  std::memcpy(word, &value, sizeof value);
}

void set_rate(perf_event_attr& attr, const Sampling& sampling) {
  if (sampling.uses_cycles) {
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_CPU_CYCLES;
    attr.freq = 1;
    attr.sample_freq = sampling.frequency_hz;
  } else {
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = sampling.period_ns();
  }
}

void set_stacks(perf_event_attr& attr, const Sampling& sampling) {
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  attr.sample_max_stack = static_cast<std::uint16_t>(sampling.depth);
  if (sampling.defers_user_chains) set_bits(attr, kDeferBits);
  if (!sampling.copies_stacks()) return;
  attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = kRegisters;
  attr.sample_stack_user = sampling.stack_bytes;
  attr.exclude_callchain_user = 1;
}

perf_event_attr make_attributes(const Sampling& sampling) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  set_rate(attr, sampling);
  set_stacks(attr, sampling);
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | (sampling.counts_lost ? kFormatLost : 0);
  attr.disabled = attr.sample_id_all = 1;
  attr.exclude_idle = sampling.uses_cycles ? 1 : 0;  // the clock's idle ticks count
  attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = INT_MAX;  // no process waits for the ring
  return attr;
}

sdk::Fd open_event(perf_event_attr attr, int cpu) {
  return sdk::Fd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}
sdk::Fd open_event(const Sampling& sampling, int cpu) {
  return open_event(make_attributes(sampling), cpu);
}

// Returns the attributes of the event that a program writes with: samples with the kernel part of
// the stack, and the program's data.
perf_event_attr make_output_attributes(const Sampling& sampling) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_BPF_OUTPUT;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
  attr.sample_max_stack = static_cast<std::uint16_t>(sampling.depth);
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | (sampling.counts_lost ? kFormatLost : 0);
  attr.exclude_callchain_user = attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = INT_MAX;
  return attr;
}

bool can_open(const Sampling& sampling, int cpu) {
  return static_cast<bool>(open_event(sampling, cpu));
}

}  // namespace

std::int64_t parse_monotonic_offset_ns(std::string_view timens_offsets) {
  while (!timens_offsets.empty()) {
    std::string_view line = sdk::take(timens_offsets, '\n');
    if (sdk::take(line, ' ') != "monotonic") continue;
    line = sdk::trimmed(line);
    const auto seconds = sdk::number<std::int64_t>(sdk::take(line, ' '));
    const auto nanoseconds = sdk::number<std::int64_t>(sdk::trimmed(line));
    if (seconds && nanoseconds)
      return seconds.value * std::int64_t{kNsPerSecond} + nanoseconds.value;
  }
  return 0;
}

PerfEvents::PerfEvents(const sdk::Host& host) : host_(host) {
  sdk::TextFile file;
  if (const auto text = file.read(host.proc(), "self/timens_offsets"))
    monotonic_offset_ns_ = parse_monotonic_offset_ns(text.value);
}

std::uint64_t PerfEvents::now_ns(clockid_t clock) const {
  const std::uint64_t now = clock_ns(clock);
  return clock == CLOCK_MONOTONIC ? now - static_cast<std::uint64_t>(monotonic_offset_ns_) : now;
}

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

int detect_features(Sampling& sampling, int cpu) {
  Sampling candidate = sampling;
  if (!can_open(candidate, cpu)) return errno;
  candidate.uses_cycles = true;
  sampling.uses_cycles = candidate.uses_cycles = can_open(candidate, cpu);
  for (bool Sampling::*feature : {&Sampling::counts_lost, &Sampling::defers_user_chains}) {
    if (feature == &Sampling::defers_user_chains && sampling.copies_stacks()) continue;
    candidate.*feature = true;
    sampling.*feature = candidate.*feature = can_open(candidate, cpu);
  }
  return 0;
}

int Event::open(const Sampling& sampling, int cpu, std::size_t ring_bytes,
                std::unique_ptr<CpuEvent>& event) {
  std::unique_ptr<Event> new_event(new Event());
  new_event->counts_lost_ = sampling.counts_lost;
  new_event->fd_ = open_event(sampling, cpu);
  if (!new_event->fd_) return errno;
  if (sampling.filter)
    if (const int error = sampling.filter->attach(new_event->fd_.get()); error != 0) return error;
  const std::size_t page = page_size();
  for (std::size_t bytes = ring_bytes; bytes >= page; bytes /= 2) {
    void* address =
        ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, new_event->fd_.get(), 0);
    if (address == MAP_FAILED) continue;
    new_event->mapping_ = address;
    new_event->mapping_bytes_ = page + bytes;
    new_event->ring_.emplace(static_cast<perf_event_mmap_page*>(address),
                             static_cast<std::byte*>(address) + page, bytes);
    if (sampling.walk)
      if (const int error = new_event->attach(sampling, cpu); error != 0) return error;
    event = std::move(new_event);
    return 0;
  }
  return errno;
}

// Attaches the program that walks. REQUIRES: the ring is mapped.
int Event::attach(const Sampling& sampling, int cpu) {
  output_ = open_event(make_output_attributes(sampling), cpu);
  if (!output_ || ::ioctl(output_.get(), PERF_EVENT_IOC_SET_OUTPUT, fd_.get()) != 0) return errno;
  return sampling.walk->attach(fd_.get(), cpu, output_.get());
}

Event::~Event() {
  if (mapping_) ::munmap(mapping_, mapping_bytes_);
}

int Event::start() { return ::ioctl(fd_.get(), PERF_EVENT_IOC_ENABLE, 0) == 0 ? 0 : errno; }

void Event::stop() { ::ioctl(fd_.get(), PERF_EVENT_IOC_DISABLE, 0); }

int Event::set_period(std::uint64_t period_ns) {
  return ::ioctl(fd_.get(), PERF_EVENT_IOC_PERIOD, &period_ns) == 0 ? 0 : errno;
}

std::optional<Counts> Event::read_counts(const sdk::Fd& event) const {
  struct {
    std::uint64_t value, enabled_ns, lost;
  } read{};
  const std::size_t size = counts_lost_ ? sizeof read : offsetof(decltype(read), lost);
  if (::read(event.get(), &read, size) != static_cast<ssize_t>(size)) return std::nullopt;
  return Counts{read.enabled_ns, read.lost};
}

std::optional<Counts> Event::counts() const {
  auto counts = read_counts(fd_);
  const auto output_counts = output_ ? read_counts(output_) : std::nullopt;
  if (counts && output_counts) counts->lost += output_counts->lost;
  return counts;
}

std::vector<int> PerfEvents::online_cpus() { return read_online_cpus(host_); }

std::uint64_t PerfEvents::idle_ns(int cpu) { return read_idle_ns(host_, cpu); }

}  // namespace ctprof::on_cpu
