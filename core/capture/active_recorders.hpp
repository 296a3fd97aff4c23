// Runs the requested recorders of call stacks while a window is open.
//
// Call start() before the window opens and discard() when it opens. Call drain() often, because the
// kernel's buffers are small. Call stop() at the end and take() for the results. Records are
// checked and stored raw (record_arena.hpp), so that unwinding does not delay the next read of a
// buffer. If a recorder fails, its result contains a message and the records until then.
//
// To unwind later, process `records` once from the oldest on: changes describe mappings that are
// added. `code` contains the mappings before that, read when a process was first found. A process
// without an entry there reported all its mappings itself, or is counted in `unreadable_processes`.
// The files that processes mapped are in `files`, open as long as the window exists.
//
// Threads: used by one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/mapped_code.hpp"
#include "core/capture/options.hpp"
#include "core/capture/pinned_files.hpp"
#include "core/capture/record_arena.hpp"
#include "core/capture/requested_processes.hpp"
#include "core/capture/unwind_tables.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/probed_host.hpp"
#include "core/snapshot/stack_names.hpp"

namespace ctprof {

class RecorderProcesses;

// The result of one recorder in one window.
struct RecorderResult {
  explicit RecorderResult(std::size_t memory_bytes) : records(memory_bytes) {}

  std::string plugin;
  std::string source;
  std::vector<SharedMetric> metrics;          // by `offer` of a record
  std::vector<bool> selected_offers = {};     // which of them were requested
  RecordArena records;                        // in order of delivery
  std::uint64_t stack_records = 0;            // accepted records of call stacks
  std::uint64_t number_records = 0;           // accepted records of numeric metrics
  std::uint64_t walked_stacks = 0;            // accepted stacks: walked by programs in the kernel
  std::uint64_t copied_stacks = 0;            // accepted stacks: copies, to be unwound
  std::vector<TableFile> tables;              // used for walks: table n is [n - 1]
  std::uint64_t refused_tables = 0;           // requests for tables beyond the limits on all tables
  std::vector<std::string> unpackable_files;  // files whose rules do not fit into a table
  std::uint64_t unrequested = 0;              // records of unrequested processes: omitted
  std::uint64_t lost = 0;                     // lost because buffers of the kernel were full
  std::uint64_t missed = 0;                   // missed samples, such as throttled ones
  std::uint64_t dropped_for_memory = 0;       // lost because the memory budget was used up
  std::uint64_t lost_changes = 0;             // lost changes of memory maps, same reason
  std::uint64_t truncated_stacks = 0;         // accepted stacks: frames are missing at the root
  std::uint64_t stacks_without_user = 0;      // accepted stacks: no user part available
  std::vector<ctprof_loss> losses;            // CPU and time of losses, if reported
  std::uint64_t omitted_losses = 0;           // number of further losses
  std::uint64_t cpu_ns = 0;                   // CPU time of draining
  std::uint64_t other_cpu_ns = 0;             // reported CPU time outside of calls
  std::optional<std::uint64_t> covered_ns;    // time that its sums cover; nullopt: it keeps none
  std::string remark;                         // message of the source for the user
  std::string failure;                        // why it stopped; empty: it did not
};

// All records of one window. It is usable without the records of earlier windows.
struct RecordedWindow {
  std::vector<RecorderResult> recorders;
  std::vector<ProcessCode> code;
  std::vector<PinnedFile> files;
  // Processes that the user may inspect without ctprof's file capabilities, if that was checked
  // before they exited; empty if ctprof has no such capabilities.
  std::vector<std::uint64_t> own_processes;
  std::uint64_t unreadable_processes = 0;  // processes whose code is unknown
  std::uint32_t max_frames = 0;            // maximum frames per stack; 0: Unwinder::kMaxFrames
};

class ActiveRecorders {
 public:
  // `proc`: the open directory /proc. REQUIRES: `probed` and `proc` outlive this object.
  ActiveRecorders(const std::vector<PlannedSource>& recorders, const ProbedHost& probed,
                  const RecordOptions& options, RequestedProcesses requested, int proc);
  ~ActiveRecorders();

  // Fails if one of the recorders cannot start.
  Result<void> start();
  void drain();
  // Recorders that keep sums (ctprof_source.window_opens) open their part of the window after its
  // threads were first read, and close it before they are read again. What they count in between
  // belongs to no window.
  void open_sums();
  void close_sums();
  // Ends the window; another may begin. Drains once more, including events in progress.
  void end_window();
  // Drops all records until now, but keeps the remarks and failures of recorders.
  void discard();
  // Drains once more. REQUIRES: end_window() was called, if events in progress are needed.
  void stop();
  // Returns the records since discard() or since the previous call.
  RecordedWindow take();
  // Returns the descendants of the requested processes that recorders reported.
  std::vector<std::uint64_t> followed_processes() const;

 private:
  class Recorder;

  RecordOptions options_;
  std::unique_ptr<RecorderProcesses> processes_;
  std::vector<std::unique_ptr<Recorder>> recorders_;
};

}  // namespace ctprof
