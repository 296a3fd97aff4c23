#include "tests/recorded/on_cpu_expected.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>

#include "tests/recorded/on_cpu_trace.hpp"

namespace ctprof::recorded {
namespace {

using namespace on_cpu_trace;

constexpr std::uint64_t kUnknownThread = UINT32_MAX;
// Words of a call chain that mark whether the following addresses belong to the kernel or to user
// space.
constexpr std::uint64_t kContexts = static_cast<std::uint64_t>(PERF_CONTEXT_MAX);
constexpr std::uint64_t kKernel = static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
constexpr std::uint64_t kUser = static_cast<std::uint64_t>(PERF_CONTEXT_USER);

// Returns a word of a record by its index.
std::uint64_t word(Bytes record, std::size_t number) {
  std::uint64_t value = 0;
  std::memcpy(&value, record.data() + 8 * number, sizeof value);
  return value;
}

std::uint64_t last_word(Bytes record) { return word(record, record.size() / 8 - 1); }

// The fields of a sample: header, thread, time, number of addresses, addresses, ABI, registers
// (rdi, bp, sp, ip, or only the last three), size of the stack, its bytes, and the number of valid
// bytes. `registers`: their number; 0: the sample ends after the addresses.
ExpectedSample sample_of(Bytes record, std::size_t registers) {
  ExpectedSample sample;
  sample.tgid = static_cast<std::uint32_t>(word(record, 1));
  sample.tid = static_cast<std::uint32_t>(word(record, 1) >> 32);
  std::size_t at = 4;
  std::vector<std::uint64_t>* part = nullptr;
  for (const std::size_t end = at + word(record, 3); at < end; ++at) {
    const std::uint64_t address = word(record, at);
    if (address >= kContexts)
      part = address == kKernel ? &sample.kernel : address == kUser ? &sample.user : nullptr;
    else if (part != nullptr)
      part->push_back(address);
  }
  if (registers == 0) return sample;
  const bool has_registers = word(record, at++) == PERF_SAMPLE_REGS_ABI_64;
  if (has_registers) {
    if (registers == 4) sample.rdi = word(record, at);
    at += registers;
    sample.bp = word(record, at - 3);
    sample.sp = word(record, at - 2);
    sample.ip = word(record, at - 1);
  }
  const std::uint64_t size = word(record, at);
  if (size > 0) sample.stack_bytes = std::min(size, word(record, at + 1 + size / 8));
  return sample;
}

class Builder {
 public:
  explicit Builder(std::size_t registers) : registers_(registers) {}

  void add_clock(const ClockRead& read) {
    if (read.clock == CLOCK_MONOTONIC) monotonic_ = read.ns;
    if (read.clock != CLOCK_BOOTTIME || has_offset_) return;
    least_ = std::min(least_, read.ns - monotonic_);
    has_offset_ = ++boottimes_ == 5;  // the clock offset is the minimum of the first five readings
    recording_.to_boottime_ns = least_;
  }
  void add_idle(const CpuValue& idle) {
    ExpectedCpu& cpu = recording_.cpus[idle.cpu];
    if (cpu.idle_from_ns == 0) cpu.idle_from_ns = idle.value;
    cpu.idle_until_ns = idle.value;
  }
  void add_counts(const CountsRead& counts) {
    recording_.cpus[counts.cpu].enabled_ns = counts.enabled_ns;
    recording_.cpus[counts.cpu].kernel_lost = counts.lost;
  }
  void add_record(std::uint64_t number, Bytes record) {
    const std::uint64_t type = word(record, 0) & UINT32_MAX;
    const std::uint64_t misc = word(record, 0) >> 32 & UINT16_MAX;
    const std::uint64_t tgid = word(record, 1) & UINT32_MAX;
    std::uint64_t& last = last_[number];
    last = std::max(last, type == PERF_RECORD_SAMPLE ? word(record, 2) : last_word(record));
    if (type == PERF_RECORD_SAMPLE) add_sample(recording_.cpus[number], record, last);
    if (type == PERF_RECORD_LOST) {
      recording_.cpus[number].lost += word(record, 2);
      recording_.losses.push_back(last);
    }
    const std::uint64_t parent = word(record, 1) >> 32;
    const bool is_leader = tgid == (word(record, 2) & UINT32_MAX);
    recording_.mapped[tgid] += type == PERF_RECORD_MMAP2;
    recording_.execed[tgid] += type == PERF_RECORD_COMM && (misc & 1 << 13) != 0;
    recording_.forked[tgid] += type == PERF_RECORD_FORK && parent != tgid;
    recording_.ended[tgid] += type == PERF_RECORD_EXIT && is_leader;
  }
  ExpectedRecording finish() { return std::move(recording_); }

 private:
  void add_sample(ExpectedCpu& cpu, Bytes record, std::uint64_t at_ns) {
    ExpectedSample sample = sample_of(record, registers_);
    sample.at_ns = at_ns;
    const bool is_unknown_thread = sample.tgid == kUnknownThread || sample.tid == kUnknownThread;
    recording_.unknown_thread_samples += is_unknown_thread;
    cpu.samples += is_unknown_thread || sample.tgid != 0;
    if (!is_unknown_thread && sample.tgid != 0) recording_.samples.push_back(std::move(sample));
  }

  std::size_t registers_;
  ExpectedRecording recording_;
  std::map<std::uint64_t, std::uint64_t> last_;
  std::uint64_t monotonic_ = 0, least_ = UINT64_MAX;
  int boottimes_ = 0;
  bool has_offset_ = false;
};

}  // namespace

ExpectedRecording compute_recording(const Trace& trace) {
  Builder builder(trace.number("stack_bytes") > 0 ? count_registers(trace) : 0);
  std::uint64_t cpu = 0;
  for (const Frame& frame : trace.frames()) {
    if (frame.kind == kRingRead) cpu = frame.as<CpuValue>().cpu;
    if (frame.kind == kClock) builder.add_clock(frame.as<ClockRead>());
    if (frame.kind == kIdle) builder.add_idle(frame.as<CpuValue>());
    if (frame.kind == kCounts) builder.add_counts(frame.as<CountsRead>());
    if (frame.kind == kRecord) builder.add_record(cpu, frame.bytes);
  }
  return builder.finish();
}

}  // namespace ctprof::recorded
