// Makes unwind tables for a recorder whose BPF program walks user stacks in the kernel.
//
// A recorder requests the table of a file when a stack first contains a frame in it. A separate
// thread opens the file and packs its rules, so that no recorder waits for a file system. The file
// must match the one that the kernel has: device, inode, size and time of the last change. On an
// overlay mount, as of a container, the kernel has the file of a layer, which many mounts share.
// Its table is made through one of them (overlay_mount.hpp) and is used for all of them.
//
//   UnwindTables tables(proc);
//   tables.request(&request);               // returns immediately
//   while (tables.next(&table)) ...         // answers
//
// Files are untrusted: the total work and the memory of waiting tables are limited. A file beyond a
// limit has no table, and the recorder copies the stacks that contain it.
//
// Threads: used by one thread at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/capture/mapped_code.hpp"
#include "core/capture/pinned_files.hpp"
#include "core/capture/target_files.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/unwind_table.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// The module of a table, the stamp of its file, and a process that had mapped it.
struct TableFile {
  std::uint64_t process = 0;
  Mapping mapping;  // as the process lists it
  FileStamp stamp = {};
  // The file of a layer that the kernel reads instead of the one in `mapping`, which is on an
  // overlay mount. Other processes may list it as a file of another overlay mount. Inode 0: none.
  FileId layer = {};
};

class UnwindTables {
 public:
  // The limits are for tests.
  struct Options {
    std::chrono::milliseconds close_timeout = MappedCode::kTimeout;  // waiting for the thread
    std::chrono::milliseconds open_timeout = TargetFiles::kTimeout;  // opening one file
    std::size_t max_tables = kMaxTables;
    std::uint64_t max_steps = kMaxSteps;
  };
  // Limit of tables of one recorder, and of files that it may request.
  static constexpr std::size_t kMaxTables = 1 << 14;
  // Limit of Cfi steps for all files; all programs of a busy host need 100 million.
  static constexpr std::uint64_t kMaxSteps = 1 << 30;
  // Limit for tables that were not delivered yet.
  static constexpr std::size_t kMaxBytes = 64 << 20;

  // `proc`: the open directory /proc, which must outlive this object.
  UnwindTables(int proc, const Options& options);
  ~UnwindTables();
  UnwindTables(const UnwindTables&) = delete;
  UnwindTables& operator=(const UnwindTables&) = delete;

  // Requests a table. A malformed request, or one beyond the limit, is answered without a table.
  void request(const ctprof_table_request* request);
  // Implements ctprof_records.next_table.
  std::int32_t next(ctprof_unwind_table* table);
  // Returns the modules of the delivered tables: table n is [n - 1].
  const std::vector<TableFile>& files() const { return files_; }
  // Returns the number of requests that were answered without a table because of kMaxTables or
  // kMaxSteps. All later requests are refused, too.
  std::uint64_t count_refused() const;
  // Returns the first hundred files that have too many rules for a table, or rules that contradict
  // each other.
  std::vector<std::string> list_unpackable_files() const;
  // Returns the CPU time of the thread since the previous call.
  std::uint64_t take_cpu_ns();

 private:
  struct Request;
  struct Answer;
  struct Shared;

  void export_table(const Answer& answer, ctprof_unwind_table& table);

  int proc_;
  Options options_;
  std::shared_ptr<Shared> shared_;  // shared with the thread, which may outlive this object
  std::thread thread_;              // started by the first request
  std::size_t requests_ = 0;
  std::vector<TableFile> files_;
  std::optional<UnwindTable> delivered_;  // the table that was delivered last
};

}  // namespace ctprof
