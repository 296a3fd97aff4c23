// Reads the counters of a batch's threads, process by process, independent of how their thread
// pointers are obtained. It decides which threads are read, and the gaps of all other cells.
//
// See also: the sources, which derive from this class and provide thread pointers and the program
// of each thread; heap_helper.hpp for reading memory and files, which may block; summary.hpp for
// the tallies.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/jemalloc-ptrace/counter_reader.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/heap_helper.hpp"
#include "plugins/jemalloc-ptrace/program.hpp"
#include "plugins/jemalloc-ptrace/thread_pointer_reader.hpp"

namespace ctprof::jemalloc {

// Each worker has one object.
class HeapReader {
 public:
  // Fills allocated_bytes and deallocated_bytes, and counts in the batch's tallies.
  void read(const sdk::Batch& batch);

 protected:
  struct KnownThread {
    ThreadImage image;
    std::uint64_t pointer = 0;  // if it is known before get_pointers()
  };

  HeapReader(const sdk::Host& host, HeapHelper& helper);
  ~HeapReader() = default;

  // Returns what is known of a thread before anything of it is read.
  virtual KnownThread describe_thread(const sdk::Thread& thread, const sdk::Batch& batch) = 0;
  // Gets the unknown pointers, or sets the outcome. Returns the longest stop of a thread, in ns.
  virtual std::uint64_t get_pointers(std::span<Tracee> tracees) = 0;

  ThreadImage read_image(const sdk::Thread& thread);

 private:
  struct Row {
    sdk::Thread thread;
    KnownThread known;
  };

  // The threads of a process in this batch that are read; `threads` and its tracees have the same
  // order.
  struct Process {
    ThreadImage image;
    ProgramNumber program = 0;
    Counters counters{};
    std::size_t first_tracee = 0;
    std::vector<sdk::Thread> threads{};
    bool is_still_running = false;
  };

  // The rows of one process in the batch, and the first of them that is alive and may be read;
  // null: there is none.
  struct Group {
    std::span<const Row> rows;
    const Row* living_row = nullptr;
    std::size_t question_index = 0;
  };

  void group_rows();
  void request_unknown_programs();
  void select_rows(const sdk::Batch& batch, const Group& group);
  static void fill_gaps(const sdk::Batch& batch, std::span<const Row> rows, Gap gap);
  Gap gap_of_missing_counters(const FindResult& found, const Row& row);
  void store_answer(const Group& group);
  void read_counters();
  void add_tracees(const sdk::Batch& batch, std::span<const Row> rows);
  void fill(const sdk::Batch& batch, const Process& process);
  int check_replaced(const Process& process);

  sdk::Host host_;
  HeapHelper& helper_;
  std::uint64_t self_;
  sdk::TextFile file_;
  std::vector<Row> rows_;
  std::vector<Group> groups_;
  std::vector<FindRequest> questions_;
  std::vector<Tracee> tracees_;
  std::vector<Reading> readings_;
  std::vector<Process> processes_;
  std::uint64_t last_tgid_ = 0;
  ThreadImage last_image_;
  ProgramNumber last_program_ = 0;
  // Known from earlier batches, and not needed after this one.
  std::vector<ProgramNumber> stale_programs_;
  FindResult last_found_{};
};

}  // namespace ctprof::jemalloc
