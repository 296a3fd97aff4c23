// Computes what the recorder on-cpu must report from the raw frames of a trace: a separate, simple
// computation over all records of each ring.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "plugins/on-cpu/kernel_input.hpp"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded {

struct ExpectedSample {
  std::uint32_t tgid = 0, tid = 0;
  std::uint64_t at_ns = 0;  // CLOCK_MONOTONIC; at least that of the previous record in the ring
  std::vector<std::uint64_t> kernel, user;
  std::uint64_t stack_bytes = 0, ip = 0, sp = 0, bp = 0;
  std::uint64_t rdi = 0;  // 0: the trace does not contain it
};

struct ExpectedCpu {
  std::uint64_t samples = 0;      // without those of the idle task
  std::uint64_t lost = 0;         // in records of the ring
  std::uint64_t kernel_lost = 0;  // including losses that only the kernel's counter has
  std::uint64_t enabled_ns = 0;
  std::uint64_t idle_from_ns = 0, idle_until_ns = 0;
};

struct ExpectedRecording {
  std::vector<ExpectedSample> samples;  // of known threads; one ring after the other
  std::map<std::uint64_t, ExpectedCpu> cpus;
  std::vector<std::uint64_t> losses;         // times of loss records
  std::uint64_t unknown_thread_samples = 0;  // samples whose thread the kernel does not name
  std::map<std::uint64_t, std::uint64_t> mapped, execed, forked, ended;  // by tgid
  std::uint64_t to_boottime_ns = 0;
};

ExpectedRecording compute_recording(const Trace& trace);

}  // namespace ctprof::recorded
