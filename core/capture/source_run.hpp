// Runs one planned source: its columns and one context per worker.
//
// collect() passes a batch of rows to the source and checks the results. No cell remains Untouched,
// and no gap is one that a source may not write. A put outside the batch or a wrong row count fails
// the batch. If a source fails, its cost contains a message, and the remaining cells become
// SourceFailed; no other source replaces it.
//
// Threads: different workers may collect different rows concurrently; all other calls need
// exclusive use of the object.

#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/capture/blocking_processes.hpp"
#include "core/capture/map_faults.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/snapshot/snapshot.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// The hidden columns of the core's lister for one batch; null if a source listed the threads.
struct HiddenColumns {
  const std::int64_t* task_dirs = nullptr;
  const ctprof_text* stats = nullptr;
  const ctprof_gap* stat_gaps = nullptr;

  HiddenColumns from_row(std::size_t row) const {
    if (!task_dirs) return {};
    return {task_dirs + row, stats + row, stat_gaps + row};
  }
};

class SourceRun {
 public:
  // Adds the columns that the source was selected for, all Untouched. `clock_start`: start of the
  // capture on CLOCK_BOOTTIME.
  SourceRun(const PlannedSource& planned, Table& table, Pools& pools, const ctprof_host& host,
            unsigned workers, std::uint64_t clock_start);
  ~SourceRun();
  SourceRun(const SourceRun&) = delete;
  SourceRun& operator=(const SourceRun&) = delete;

  ctprof_stage stage() const { return planned_.source->table.stage; }
  const SourceTable& source() const { return *planned_.source; }
  const Plugin* plugin() const { return planned_.plugin; }
  // Returns the plugin's context (open_plugin).
  void* context() const { return host_.context; }

  void collect(unsigned worker, std::size_t first_row, std::uint32_t rows,
               const HiddenColumns& hidden);

  // Sets the gap of these cells without calling the source.
  void set_gaps(std::size_t first_row, std::uint32_t rows, Gap gap);

  // If a worker blocks in the source or before it, the worker is abandoned with all its data.
  // Another one takes its index and continues with the tallies that save_tallies() stored.
  void save_tallies(unsigned worker);
  void replace_worker(unsigned worker);

  // List stage: appends rows to the table until the source is done. Returns false if it failed;
  // then finish() returns the message, and the rows are unusable.
  bool list(const std::vector<std::uint64_t>& pids, std::vector<std::uint64_t>& read_at);

  // Stage ENTITY_LIST: appends rows to the table until the source is done. If it fails, or if its
  // rows are not identified uniquely, removes all rows and returns false; then finish() returns the
  // message.
  bool list_entity();

  // Stage of exited threads: call start, then drain any number of times, stop, and drain once more.
  // drain() appends rows to the table and adds to `losses`. Each returns false if the source
  // failed; then finish() returns the message, and rows drained before that remain.
  struct Losses {
    std::uint64_t lost = 0;
    std::uint64_t unseen = 0;
  };
  bool start(const ctprof_window& window);
  bool drain(std::vector<std::uint64_t>& read_at, Losses& losses);
  bool stop();

  // Returns the cost of the source so far, and the number of gaps in its columns.
  SourceCost cost() const;
  // Closes the workers and returns the cost. REQUIRES: called once, after the last batch.
  SourceCost finish();
  // Returns the distinct remarks of the source for the user. Valid after finish().
  const std::set<std::string>& remarks() const { return remarks_; }
  // Returns the sums over all workers. Valid after finish().
  const std::vector<std::uint64_t>& tallies() const { return tallies_; }

 private:
  struct Worker;

  bool open_worker(Worker& worker);
  void close_worker(Worker& worker);
  void fill_inputs(Worker& worker, std::size_t first_row, std::uint32_t rows,
                   const HiddenColumns& hidden);
  void fill_cells(Worker& worker, std::size_t first_row, std::uint32_t rows);
  ctprof_batch make_batch(Worker& worker);
  void check_cells(Worker& worker, std::size_t first_row, std::uint32_t rows, bool has_failed);
  void count_gaps(SourceCost& cost) const;
  ctprof_listing make_listing(Worker& worker, const std::vector<std::uint64_t>& pids);
  template <class Call>
  bool call_source(Worker& worker, const char* function, Call call);
  void drop_reserved_rows();
  static ctprof_batch* reserve_rows(void* core);
  static void commit_rows(void* core, std::uint32_t rows);

  PlannedSource planned_;
  const CallOwner* owner_;
  Table& table_;
  Pools& pools_;
  ctprof_host host_;
  std::uint64_t clock_start_;
  std::vector<Column*> columns_;  // by offer; null if not selected
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::uint64_t> tallies_;
  std::set<std::string> remarks_;
  MapFaults map_faults_{};
};

}  // namespace ctprof
