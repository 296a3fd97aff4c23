// Reads the identity of threads, and adds the rows that follow from the threads.
//
// Each worker has a reader. It opens a thread's directory and reads its stat file, and its cgroup
// file if threads of one process can be in different cgroups. It processes a run of rows and leaves
// out threads that exited before anything was read. It keeps the directories of the other threads
// open and their stat texts in memory until release(), so that sources need not open and read them
// again.
//
// The following rows are derived from the threads: one process per distinct tgid, one cgroup per
// distinct path and per ancestor, and the host. Cgroups without threads are added to them. These
// rows get their identity columns here.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/capture/blocking_processes.hpp"
#include "core/capture/roots.hpp"
#include "core/capture/source_run.hpp"
#include "core/snapshot/snapshot.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// References to the identity columns of a thread table.
struct IdentityColumns {
  Column& tid;
  Column& tgid;
  Column& pcomm;
  Column& comm;
  Column& cgroup;
  Column& start_time;
  Column& parent;
  Column& kernel_thread;
};
void add_identity_columns(Table& threads);
IdentityColumns identity_columns(Table& threads);  // REQUIRES: added

// Determines whether threads of one process can be in different cgroups. This is possible only in a
// threaded cgroup (see cgroup.type). Shared by all workers; any thread may call it.
class ThreadedCgroups {
 public:
  // Paths can be looked up only if the mount shows the whole hierarchy.
  explicit ThreadedCgroups(const Roots& roots)
      : root_fd_(roots.cgroup_root == "/" ? roots.cgroup_fd.get() : -1) {}
  // `path`: the cgroup of one thread of the process.
  bool threads_can_differ(std::string_view path);

 private:
  bool read_threads_can_differ(std::string_view path) const;
  bool root_has_threaded_child() const;

  int root_fd_;
  std::mutex mutex_;
  std::unordered_map<std::string, bool> differs_by_path_;
};

class IdentityReader {
 public:
  // The maximum number of rows that a reader keeps open.
  static constexpr std::uint32_t kMaxRows = 128;

  IdentityReader(const Roots& roots, IdentityColumns& columns, TextPool& texts,
                 ThreadedCgroups& threaded_cgroups, const BlockingProcesses& blocking,
                 std::vector<std::uint64_t>& read_at, std::uint64_t clock_start);

  // Sets how many directories of a run remain open for sources; initially 0. Sources open the files
  // of the other threads by path.
  void set_open_directories(std::uint32_t directories) { max_directories_ = directories; }
  // Reads at most kMaxRows threads into the rows from `first_row` on. Returns how many still
  // existed. The stat file of a blocking process is not read and becomes Busy.
  std::uint32_t read(std::span<const ThreadId> threads, std::size_t first_row);
  HiddenColumns hidden_columns() const {
    return {task_dirs_.data(), stats_.data(), stat_gaps_.data()};
  }
  void release();
  // Reads only the cgroups, for rows that another source listed.
  void read_cgroups(std::size_t first_row, std::uint32_t rows);

 private:
  bool read_one(const ThreadId& thread, std::size_t row);
  sdk::Reading<std::string_view> read_file(const ThreadId& thread, int directory, int error);
  void read_name(int directory, std::size_t row);
  void read_stat(std::string_view text, std::size_t row);
  std::array<Column*, 4> stat_columns();
  void read_cgroup(const ThreadId& thread, int directory, std::size_t row);

  const Roots& roots_;
  IdentityColumns& columns_;
  TextCache texts_;
  ThreadedCgroups& threaded_cgroups_;
  const BlockingProcesses& blocking_;
  std::vector<std::uint64_t>& read_at_;
  std::uint64_t clock_start_;
  sdk::TextFile file_;
  std::vector<sdk::Fd> directories_;
  std::uint32_t max_directories_ = 0;
  std::vector<std::int64_t> task_dirs_;
  std::vector<std::string> stat_texts_;
  std::vector<ctprof_text> stats_;
  std::vector<ctprof_gap> stat_gaps_;
  // The last process whose threads all share one cgroup, and that cgroup.
  std::uint64_t shared_tgid_ = 0;
  Id shared_cgroup_ = 0;
};

// The identity in a stat file; nullopt if `text` is not one.
struct StatIdentity {
  std::string_view comm;
  std::uint64_t start_time;
  std::uint64_t parent;
  bool kernel_thread;
};
std::optional<StatIdentity> parse_stat_identity(std::string_view text);

// Returns the path in the unified hierarchy: the line of a cgroup file that begins with "0::", or
// nullopt.
std::optional<std::string_view> parse_cgroup_path(std::string_view text);
// Returns whether a cgroup is `ancestor` or its descendant; both are paths without a trailing
// slash.
bool is_below(std::string_view cgroup, std::string_view ancestor);

// Returns those of `pids` (of all processes if empty) that are in the cgroup or its descendants.
// Returns only kNoProcess if there is none, because an empty list would mean all processes.
inline constexpr std::uint64_t kNoProcess = 0;
Result<std::vector<std::uint64_t>> list_processes_below(int proc, std::string_view cgroup,
                                                        const std::vector<std::uint64_t>& pids);

// Adds one row per process. REQUIRES: the thread table has its rows and their identity. The other
// columns of processes become Untouched.
void add_process_rows(Snapshot& snapshot);
// Adds the cgroups of threads, their ancestors, and those of `all`. Adds ids only if `all` is
// complete: otherwise an id that is missing at the start of a window would not prove a new cgroup.
void add_cgroup_rows(Snapshot& snapshot, const CgroupList& all = {});
void add_host_row(Snapshot& snapshot);

}  // namespace ctprof
