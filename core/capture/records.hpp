// Call stacks that are recorded while a window is open: the recorders that were asked for, at work.
//
// start() before the window opens; forget() when it does; drain() often, for the kernel's buffers
// are small; stop() at its end; take() for what came. Records are checked, and kept raw
// (record_arena.hpp): nobody unwinds between two reads of a buffer. A recorder that fails gives a
// sentence, and what it recorded until then is kept.
//
// Who unwinds them later goes through `records` once, from the oldest on: changes say what
// processes mapped from then on. What a process had mapped before that is in `code`, read when it
// was met first; a process that has nothing there told of all its mappings itself, or is one of
// `unknown`. Files that processes had mapped are in `files`, open as long as the window is kept.
//
// Threads: one at a time.

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
#include "core/capture/unwind_tables.hpp"
#include "core/capture/wanted_processes.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/probed.hpp"
#include "core/snapshot/stack_names.hpp"

namespace ctprof {

// What one recorder did in one window.
struct Recorded {
  explicit Recorded(std::size_t memory) : records(memory) {}

  std::string plugin;
  std::string source;
  std::vector<SharedMetric> metrics;        // by `offer` of a record
  RecordArena records;                      // in the order in which they were handed over
  std::uint64_t taken = 0;                  // records of stacks that are there
  std::uint64_t numbers = 0;                // and of numbers
  std::uint64_t walked = 0;                 // of those taken: by programs in the kernel
  std::uint64_t copied = 0;                 // of those taken: copies of the stack, to be walked
  std::vector<TableFile> tables;            // that walks were made by: table n is [n - 1]
  std::uint64_t tables_refused = 0;         // requests for tables, for a limit on all of them
  std::uint64_t others = 0;                 // of processes that were not requested: omitted
  std::uint64_t lost = 0;                   // by full buffers of the kernel
  std::uint64_t unseen = 0;                 // that should have been taken, and were not
  std::uint64_t no_room = 0;                // lost because our own memory was used up
  std::uint64_t changes_lost = 0;           // of processes' memory, likewise
  std::uint64_t cut = 0;                    // of those taken: frames are missing at the root
  std::uint64_t without_user = 0;           // of those taken: the user part could not be had
  std::vector<ctprof_loss> losses;          // where records are missing, as far as that is told
  std::uint64_t losses_left_out = 0;        // there were more
  std::uint64_t cpu_ns = 0;                 // what draining cost us
  std::uint64_t cpu_elsewhere_ns = 0;       // what it cost outside of its calls, as far as it says
  std::optional<std::uint64_t> covered_ns;  // how long its sums cover; none: it keeps no sums
  std::string remark;                       // of the source, for the user
  std::string failed;                       // why it stopped; empty: it did not
};

// All that was recorded in one window. It stands for itself: of what an earlier one told nothing is
// needed.
struct RecordedWindow {
  std::vector<Recorded> recorders;
  std::vector<ProcessCode> code;
  std::vector<PinnedFile> files;
  std::uint64_t unknown = 0;  // processes whose code is not known
  std::uint32_t depth = 0;    // most frames of a stack; 0: Unwinder::kMostFrames
};

class Records {
 public:
  // `proc`: the open directory /proc. REQUIRES: `probed` and it outlive this object.
  Records(const std::vector<PlannedSource>& recorders, const Probed& probed,
          const RecordOptions& options, WantedProcesses wanted, int proc);
  ~Records();

  // Fails if one of them cannot.
  Result<void> start();
  void drain();
  // Recorders that keep sums (ctprof_source.window_opens) begin their part of the window, after its
  // threads were first read, and end it, before they are read last. What they count in between
  // belongs to no window.
  void open_sums();
  void close_sums();
  // A window ends here, and another may begin: drains once more what is in progress until now.
  void end_window();
  // Drops what came until now. What recorders had to say, and which of them failed, stays.
  void forget();
  // Drains once more. REQUIRES: end_window() was called, if what is in progress is to be had.
  void stop();
  // What was recorded since forget(), or since this was last called.
  RecordedWindow take();
  // Processes that descend from those that were requested, as far as recorders reported them.
  std::vector<std::uint64_t> followed() const;

 private:
  class Processes;
  class Recorder;

  RecordOptions options_;
  std::unique_ptr<Processes> processes_;
  std::vector<std::unique_ptr<Recorder>> recorders_;
};

}  // namespace ctprof
