// Samples sleepers through /proc if BPF is unavailable: only the kernel part of stacks.
//
// Sources: /proc/PID/task/TID/stat for the state, stack for the stack. It takes about ten
// microseconds per thread, whether it has run or not.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/sleepers/kernel_symbols.hpp"
#include "plugins/sleepers/pass.hpp"

namespace ctprof::sleepers {

// The required fields of /proc/PID/task/TID/stat.
struct ThreadStat {
  char state = '?';
  std::uint64_t start_ticks = 0;
  bool has_user = false;  // it is neither a kernel thread nor one that only works for the kernel
};
// Parses a stat file. The state remains '?' if the text is malformed.
ThreadStat parse_stat(std::string_view text);

class ProcSampler : public Sampler {
 public:
  // `pids`: the selected processes; empty: all.
  ProcSampler(const sdk::Host& host, std::vector<std::uint64_t> pids);

  void sample(std::uint32_t round, Pass& pass) override;
  std::uint32_t current_process() const override { return 0; }

 private:
  void sample_process(std::uint32_t tgid, Pass& pass);
  void sample_thread(int process, std::uint32_t tgid, std::uint32_t tid, Pass& pass);

  sdk::Host host_;
  std::vector<std::uint64_t> pids_;
  KernelSymbols names_;
  sdk::TextFile file_;
};

}  // namespace ctprof::sleepers
