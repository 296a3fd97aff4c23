// Makes unwind tables for a recorder whose program in the kernel walks user stacks.
//
// A recorder asks for the table of a file when a stack first leads into it. A thread of its own
// opens the file and packs its rules, so that no recorder waits for a file system. The file must be
// the one that the kernel has: by device and inode, size and time of its last change. A file on
// an overlay mount has no table: the kernel has the file of a layer, which many mounts share.
//
//   UnwindTables tables(proc);
//   tables.want(&request);                  // returns at once
//   while (tables.next(&table)) ...         // answers
//
// Files are untrusted: the work on all of them and the memory of waiting tables are bounded. What
// exceeds a limit has no table, and the recorder takes copies of such stacks.
//
// Threads: one at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/capture/mapped_code.hpp"
#include "core/capture/pinned_files.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/unwind_table.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// The module of a table, its content, and a process that had it mapped.
struct TableFile {
  std::uint64_t process = 0;
  Mapping mapping;
  FileStamp stamp = {};
};

class UnwindTables {
 public:
  // Tables of one recorder, and files that it may ask for.
  static constexpr std::size_t kMostTables = 1 << 14;
  // Steps of Cfi, for all of them: everything that runs on a busy host takes 100 million.
  static constexpr std::uint64_t kMostSteps = 1 << 30;
  // Of tables that were not handed over yet.
  static constexpr std::size_t kMostBytes = 64 << 20;

  // `proc`: the open directory /proc, which outlives it. `patience`: how long the destructor waits
  // for the thread. The others: for tests.
  explicit UnwindTables(int proc, std::chrono::milliseconds patience = MappedCode::kPatience,
                        std::size_t most_tables = kMostTables,
                        std::uint64_t most_steps = kMostSteps);
  ~UnwindTables();
  UnwindTables(const UnwindTables&) = delete;
  UnwindTables& operator=(const UnwindTables&) = delete;

  // A request that is malformed, or one too many, is answered like one without a table.
  void want(const ctprof_table_request* request);
  // As ctprof_records.next_table.
  std::int32_t next(ctprof_unwind_table* table);
  // Modules of the tables that were handed over: table n is [n - 1].
  const std::vector<TableFile>& files() const { return files_; }
  // Requests that were answered without a table because all of them together reached kMostTables or
  // kMostSteps. No later one has a table either.
  std::uint64_t refused() const;
  // CPU time that the thread used since the last call.
  std::uint64_t take_cpu_ns();

 private:
  struct Request;
  struct Answer;
  struct Shared;

  void hand_over(const Answer& answer, ctprof_unwind_table& table);

  int proc_;
  std::chrono::milliseconds patience_;
  std::size_t most_tables_;
  std::uint64_t most_steps_;
  std::shared_ptr<Shared> shared_;  // the thread's, too, which may outlive this object
  std::thread thread_;              // runs once there is a request
  std::size_t requests_ = 0;
  std::vector<TableFile> files_;
  std::optional<UnwindTable> current_;  // that was handed over last
};

}  // namespace ctprof
