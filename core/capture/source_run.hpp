// A source at work: one planned source, its columns, and a context per worker.
//
// collect() hands a batch of rows to the source and checks what comes back: no cell stays
// Untouched, no gap is one that a source may not write, and a put beyond the batch or a wrong row
// count fails the batch. A source that fails gives a message, and the cells that it left become
// SourceFailed; no other source takes over.
//
// Threads: different workers may collect different rows at the same time; everything else needs
// exclusive use of the object.

#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/capture/held.hpp"
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

  HiddenColumns from(std::size_t row) const {
    if (!task_dirs) return {};
    return {task_dirs + row, stats + row, stat_gaps + row};
  }
};

class SourceRun {
 public:
  // Opens the columns that it was chosen for, all Untouched. `clock_start` is the capture's start
  // on the monotonic clock.
  SourceRun(const PlannedSource& planned, Table& table, Pools& pools, const ctprof_host& host,
            unsigned workers, std::uint64_t clock_start);
  ~SourceRun();
  SourceRun(const SourceRun&) = delete;
  SourceRun& operator=(const SourceRun&) = delete;

  ctprof_stage stage() const { return planned_.source->table.stage; }
  const SourceTable& source() const { return *planned_.source; }
  const Plugin* plugin() const { return planned_.plugin; }
  // The plugin's context (open_plugin).
  void* context() const { return host_.context; }

  void collect(unsigned worker, std::size_t first_row, std::uint32_t rows,
               const HiddenColumns& hidden);

  // Gives these cells that gap, without asking the source.
  void leave(std::size_t first_row, std::uint32_t rows, Gap gap);

  // A worker that hangs in the source, or in what came before it, is left alone with everything it
  // has; another one takes its number, with what it had counted when `keep_count` was called.
  void keep_count(unsigned worker);
  void replace(unsigned worker);

  // For the list stage: appends rows to the table until the source is done. Returns false if it
  // failed; finish() then has the message, and the rows are not usable.
  bool list(const std::vector<std::uint64_t>& pids, std::vector<std::uint64_t>& read_at);

  // For the stage of threads that ended: start, then drain as often as is liked, stop, and drain
  // once more. drain() appends rows to the table, and adds to what was lost and unseen. Each
  // returns false if the source failed; finish() then has the message, and rows drained before that
  // stay.
  struct Missed {
    std::uint64_t lost = 0;
    std::uint64_t unseen = 0;
  };
  bool start(const ctprof_window& window);
  bool drain(std::vector<std::uint64_t>& read_at, Missed& missed);
  bool stop();

  // What the source did until now, with the gaps in its columns counted.
  SourceCost cost() const;
  // The same, when the workers are closed. REQUIRES: called once, after the last batch.
  SourceCost finish();
  // The source's remarks for the user, each once. Valid after finish().
  const std::set<std::string>& remarks() const { return remarks_; }
  // Summed over workers; valid after finish().
  const std::vector<std::uint64_t>& tallies() const { return tallies_; }

 private:
  struct Worker;

  bool open(Worker& worker);
  void close(Worker& worker);
  void fill_inputs(Worker& worker, std::size_t first_row, std::uint32_t rows,
                   const HiddenColumns& hidden);
  void fill_cells(Worker& worker, std::size_t first_row, std::uint32_t rows);
  ctprof_batch batch(Worker& worker);
  void settle(Worker& worker, std::size_t first_row, std::uint32_t rows, bool failed);
  void count_gaps(SourceCost& cost) const;
  ctprof_listing listing(Worker& worker, const std::vector<std::uint64_t>& pids);
  template <class Call>
  bool ask(Worker& worker, const char* function, Call call);
  void drop_room();
  static ctprof_batch* room(void* core);
  static void commit(void* core, std::uint32_t rows);

  PlannedSource planned_;
  const CallOwner* owner_;
  Table& table_;
  Pools& pools_;
  ctprof_host host_;
  std::uint64_t clock_start_;
  std::vector<Column*> columns_;  // by offer; null where not chosen
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::uint64_t> tallies_;
  std::set<std::string> remarks_;
};

// Collects the rows from `first_row` on, whose processes `tgids` are; those of a process that is
// held are left Busy.
void collect_unless_held(SourceRun& source, const HeldProcesses& held, unsigned worker,
                         std::size_t first_row, std::span<const std::uint64_t> tgids,
                         const HiddenColumns& hidden);

}  // namespace ctprof
