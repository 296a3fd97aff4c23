// Looks at sleepers through /proc, where BPF is not to be had: the kernel's part of stacks alone.
//
// Sources: /proc/PID/task/TID/stat for who sleeps, stack for where. Some ten microseconds a thread,
// whether it has run or not.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/sleepers/kernel_names.hpp"
#include "plugins/sleepers/pass.hpp"

namespace ctprof::sleepers {

// What /proc/PID/task/TID/stat says, as far as it matters.
struct Stat {
  char state = '?';
  std::uint64_t start_ticks = 0;
  bool has_user = false;  // it is no thread of the kernel, nor one that works for it alone
};
// Nothing but '?' where it says something else.
Stat stat_in(std::string_view text);

class ProcLooker : public Looker {
 public:
  // `pids`: only these processes; none: all.
  ProcLooker(const sdk::Host& host, std::vector<std::uint64_t> pids);

  void look(std::uint32_t round, Pass& pass) override;
  std::uint32_t reads_from() const override { return 0; }

 private:
  void look_at_process(std::uint32_t tgid, Pass& pass);
  void look_at(int process, std::uint32_t tgid, std::uint32_t tid, Pass& pass);

  sdk::Host host_;
  std::vector<std::uint64_t> pids_;
  KernelNames names_;
  sdk::TextFile file_;
};

}  // namespace ctprof::sleepers
