// The source of threads that exit while a window is open, with their final values.
//
// Source: BPF programs at sched_switch and sched_process_exec (thread_exits.bpf.c). They are loaded
// when a window opens, and unloaded when it closes, or when ctprof ends in any way.
//
// See also: exit_input.hpp for the programs, decode.hpp for the meaning of values, probe.hpp for
// the probe.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/task-iter/columns.hpp"
#include "plugins/task-iter/exit_input.hpp"
#include "plugins/task-iter/exit_records.h"
#include "plugins/task-iter/probe.hpp"

namespace ctprof::task_iter {

// The columns with final values of an exited thread.
class ExitedThreadColumns {
 public:
  using FinalValues =
      sdk::Table<Fill<vocabulary::policy, find_policy_name>, Fill<vocabulary::nice, read_nice>,
                 Fill<vocabulary::priority, read_priority>,
                 Fill<vocabulary::rt_priority, &record::rt_priority>,
                 Fill<vocabulary::nr_migrations, &record::nr_migrations>,
                 Fill<vocabulary::minflt, &record::min_flt>,
                 Fill<vocabulary::majflt, &record::maj_flt>,
                 Fill<vocabulary::voluntary_csw, &record::nvcsw>,
                 Fill<vocabulary::nonvoluntary_csw, &record::nivcsw>,
                 Fill<vocabulary::run_time_ns, &record::sum_exec_runtime>>;
  using Always = sdk::Groups<FinalValues, RunQueueWaits, WaitExtremes, Io>;
  static constexpr auto kOffers =
      sdk::joined(Identity::kOffers, Always::kOffers, CpuTimeColumns::kOffers, AllDelays::kOffers,
                  AllStatistics::kOffers);

  explicit ExitedThreadColumns(const sdk::Batch& batch);
  void put(std::uint32_t row, const record& task, const HostFacts& facts);
  // Writes the identity, and the same gap to all other columns.
  void put_identity(std::uint32_t row, const record& task, const HostFacts& facts, Gap gap);

 private:
  Identity identity_;
  Always always_;
  CpuTimeColumns times_;
  AllDelays delays_;
  AllStatistics statistics_;
  ScratchBuffers scratch_{};
};

class ExitedThreads : public sdk::ExitedSource {
 public:
  static constexpr const char* kName = "ends";
  static constexpr std::int32_t kRank = 20;  // before taskstats
  static constexpr auto kOffers =
      sdk::joined(ExitedThreadColumns::kOffers,
                  sdk::offers(sdk::kComm, sdk::kPcomm, sdk::kCgroup, sdk::kBornAt, sdk::kEndedAt,
                              sdk::kTookOver, sdk::kDescendant, sdk::kWasBorn));

  explicit ExitedThreads(const sdk::Host& host)
      : ExitedThreads(host, std::make_unique<KernelExitInput>()) {}
  ExitedThreads(const sdk::Host& host, std::unique_ptr<ExitInput> input)
      : host_(host), facts_(read_host_facts(host)), input_(std::move(input)) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }

  void start(const sdk::Window& window);
  void drain(const sdk::Listing& listing);
  void stop();

 private:
  struct Columns;
  using Rows = sdk::ListedRows<Columns>;

  bool is_selected(std::uint64_t tgid, bool is_followed) const;
  bool handle_record(Rows& rows, std::span<const std::byte> bytes);
  void put(Rows& rows, const exit_record_thread& exit_record);
  void put(Rows& rows, const exit_record_exec& exec);
  void put(Rows& rows, const exit_record_fork& fork_record);
  void write_living_thread(Rows& rows, const record& task, std::uint64_t at_ns);
  void store_path(const exit_record_cgroup& cgroup);
  void put_cgroup(sdk::Column<CTPROF_STRING>& cgroup, std::uint32_t row, std::uint64_t id);

  sdk::Host host_;
  HostFacts facts_;
  std::vector<std::uint64_t> pids_;  // sorted; empty: all
  bool follows_children_ = false;    // whether to include descendants of those processes
  std::unique_ptr<ExitInput> input_;
  std::uint64_t reported_lost_ = 0;
  std::unordered_map<std::uint64_t, std::string> paths_;  // by cgroup id
};

// Returns the path of a cgroup from its own name and those above it; no value if they are
// truncated.
std::optional<std::string> make_cgroup_path(const exit_record_cgroup& cgroup);

}  // namespace ctprof::task_iter
