// The source that lists the threads, and fills most of their metrics in the same pass. It also
// writes rows for threads that the pass did not visit.
//
// See also: pass.hpp for loading and reading, decode.hpp for the meaning of values, probe.hpp for
// the probe.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/shared/hidden_threads.hpp"
#include "plugins/task-iter/columns.hpp"
#include "plugins/task-iter/context.hpp"
#include "plugins/task-iter/names.hpp"
#include "plugins/task-iter/pass.hpp"
#include "plugins/task-iter/probe.hpp"

namespace ctprof::task_iter {

class ThreadLister : public sdk::ListSource {
 public:
  static constexpr const char* kName = "tasks";
  static constexpr std::int32_t kRank = 20;  // before taskstats and /proc
  static constexpr auto kOffers = sdk::joined(
      Columns::kOffers, sdk::offers(sdk::kComm, sdk::kCgroup), MemoryAddresses::kOffers);
  static constexpr std::uint32_t kHiddenTally = 0;
  static constexpr std::uint32_t kTallies = kHiddenTally + 1;

  explicit ThreadLister(const sdk::Host& host);
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }
  static void summarise(const sdk::Summary& summary);

  void list(const sdk::Listing& listing);

 private:
  // A block of rows of a listing, and its columns.
  struct RowBlock {
    explicit RowBlock(const sdk::Batch& batch_to_fill);

    sdk::Batch batch;
    Columns columns;
    MemoryAddresses memory_addresses;
    sdk::Column<CTPROF_STRING> comm;
    sdk::Column<CTPROF_STRING> cgroup;
    std::uint32_t rows = 0;
  };

  // Returns false if ctprof accepts no more rows.
  bool list_visited(const sdk::Listing& listing, HiddenThreads& hidden_threads,
                    std::optional<RowBlock>& block);
  bool list(const sdk::Listing& listing, std::span<const HiddenThread> threads,
            std::optional<RowBlock>& block);
  PassSelection make_selection(std::span<const std::uint64_t> pids) const;
  static bool ensure_free_row(const sdk::Listing& listing, std::optional<RowBlock>& block);
  void write_row(RowBlock& block, const record& task);
  void write_row(RowBlock& block, const HiddenThread& thread);

  sdk::Host host_;
  HostFacts facts_;
  ThreadNames names_;
  CgroupPaths cgroups_;
  std::vector<std::uint32_t> visited_tgids_;  // visited processes, ascending
};

}  // namespace ctprof::task_iter
