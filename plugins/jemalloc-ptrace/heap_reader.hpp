// Reading the counters of a batch's threads, process by process, however their thread pointers are
// got.
//
// What is here:   which threads are read, and what every other cell is.
// What is not:    thread pointers, and which program a thread ran when its pointer was taken: a
// source says so, who derives from this.
//                 Reading memory and files, which may hang (heap_helper.hpp), tallies' meaning
//                 (summary.hpp).

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/jemalloc-ptrace/counters_read.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/heap_helper.hpp"
#include "plugins/jemalloc-ptrace/program.hpp"
#include "plugins/jemalloc-ptrace/thread_pointers.hpp"

namespace ctprof::jemalloc {

// One per worker.
class HeapReader {
 public:
  // Fills allocated_bytes and deallocated_bytes, and counts in the batch's tallies.
  void read(const sdk::Batch& batch);

 protected:
  struct Known {
    ThreadImage image;
    std::uint64_t pointer = 0;  // where it is known before it is asked for
  };

  HeapReader(const sdk::Host& host, HeapHelper& helper);
  ~HeapReader() = default;

  // What is known of a thread before anything is read of it.
  virtual Known look_at(const sdk::Thread& thread, const sdk::Batch& batch) = 0;
  // Gets the pointers that are not known, or says why not; returns the longest that a thread was
  // held up, in ns.
  virtual std::uint64_t get_pointers(std::span<Tracee> tracees) = 0;

  ThreadImage image_now(const sdk::Thread& thread);

 private:
  struct Row {
    sdk::Thread thread;
    Known known;
  };

  // Those of its threads that are to be read, as far as they are in the batch: rows and tracees
  // side by side.
  struct Process {
    ThreadImage image;
    ProgramNumber program = 0;
    Counters counters{};
    std::size_t first_tracee = 0;
    std::vector<sdk::Thread> threads{};
    bool still_runs = false;
  };

  // The rows of one process in the batch, and the first of them that is alive and may be looked
  // into; null: there is none.
  struct Group {
    std::span<const Row> rows;
    const Row* alive = nullptr;
    std::size_t question = 0;
  };

  void group_rows();
  void ask_what_is_not_known();
  void choose(const sdk::Batch& batch, const Group& group);
  static void leave(const sdk::Batch& batch, std::span<const Row> rows, Gap gap);
  Gap why_not(const Found& found, const Row& row);
  void settle(const Group& group);
  void read_counters();
  void enlist(const sdk::Batch& batch, std::span<const Row> rows);
  void fill(const sdk::Batch& batch, const Process& process);
  int replaced_by_now(const Process& process);

  sdk::Host host_;
  HeapHelper& helper_;
  std::uint64_t self_;
  sdk::TextFile file_;
  std::vector<Row> rows_;
  std::vector<Group> groups_;
  std::vector<FindQuestion> questions_;
  std::vector<Tracee> tracees_;
  std::vector<Reading> readings_;
  std::vector<Process> processes_;
  std::uint64_t last_tgid_ = 0;
  ThreadImage last_image_;
  ProgramNumber last_program_ = 0;
  std::vector<ProgramNumber> stale_;  // known from earlier batches, and not needed after this one
  Found last_found_{};
};

}  // namespace ctprof::jemalloc
