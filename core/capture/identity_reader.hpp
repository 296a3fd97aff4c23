// Reads who a thread is, and makes the rows that follow from the threads.
//
// Each worker has a reader. It opens a thread's directory, reads its stat file, and its cgroup if
// threads of one process can differ in it. It takes a run of rows, leaves out threads that exited
// before anything of them could be read, and keeps the other threads' directories open and their
// stat texts in memory until release(), so that sources need not open and read them again.
//
// From the threads follow one process per distinct tgid; one cgroup per distinct path, and one per
// ancestor, beside the cgroups that have no threads; one host. Here they get their identity
// columns.

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

#include "core/capture/held.hpp"
#include "core/capture/roots.hpp"
#include "core/capture/source_run.hpp"
#include "core/snapshot/snapshot.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// The identity columns of a thread table, found once.
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

// Whether threads of one process can be in different cgroups: only in a threaded cgroup, as its
// cgroup.type says. Shared by all workers; any thread may ask.
class ThreadedCgroups {
 public:
  // Paths can be looked up only if the mount shows the whole hierarchy.
  explicit ThreadedCgroups(const Roots& roots)
      : root_fd_(roots.cgroup_root == "/" ? roots.cgroup_fd.get() : -1) {}
  // `path`: the cgroup of one thread of the process.
  bool threads_can_differ(std::string_view path);

 private:
  bool look(std::string_view path) const;
  bool root_has_threaded_child() const;

  int root_fd_;
  std::mutex mutex_;
  std::unordered_map<std::string, bool> known_;
};

class IdentityReader {
 public:
  // The most rows that a reader keeps open at once.
  static constexpr std::uint32_t kRows = 128;

  IdentityReader(const Roots& roots, IdentityColumns& columns, TextPool& texts,
                 ThreadedCgroups& threaded, const HeldProcesses& held,
                 std::vector<std::uint64_t>& read_at, std::uint64_t clock_start);

  // How many directories of a run to keep open for sources; they open the files of other threads by
  // path. 0 until this is called.
  void keep_open(std::uint32_t directories) { most_directories_ = directories; }
  // Reads at most kRows threads into the rows from `first_row` on. Returns how many still existed.
  // The stat file of a process that is held is Busy, and is not read.
  std::uint32_t read(std::span<const ThreadId> threads, std::size_t first_row);
  HiddenColumns hidden() const { return {task_dirs_.data(), stats_.data(), stat_gaps_.data()}; }
  void release();
  // Reads the cgroups alone, for rows that another source listed.
  void read_cgroups(std::size_t first_row, std::uint32_t rows);

 private:
  bool read_one(const ThreadId& thread, std::size_t row);
  sdk::Reading<std::string_view> read_file(const ThreadId& thread, int directory, int error);
  void read_name(int directory, std::size_t row);
  void read_stat(std::string_view text, std::size_t row);
  std::array<Column*, 4> of_stat();
  void read_cgroup(const ThreadId& thread, int directory, std::size_t row);

  const Roots& roots_;
  IdentityColumns& columns_;
  TextCache texts_;
  ThreadedCgroups& threaded_;
  const HeldProcesses& held_;
  std::vector<std::uint64_t>& read_at_;
  std::uint64_t clock_start_;
  sdk::TextFile file_;
  std::vector<sdk::Fd> directories_;
  std::uint32_t most_directories_ = 0;
  std::vector<std::int64_t> task_dirs_;
  std::vector<std::string> stat_texts_;
  std::vector<ctprof_text> stats_;
  std::vector<ctprof_gap> stat_gaps_;
  // The last process whose threads all share one cgroup, and that cgroup.
  std::uint64_t shared_tgid_ = 0;
  Id shared_cgroup_ = 0;
};

// Who a stat file is of; nullopt if `text` is not one.
struct StatIdentity {
  std::string_view comm;
  std::uint64_t start_time;
  std::uint64_t parent;
  bool kernel_thread;
};
std::optional<StatIdentity> parse_stat_identity(std::string_view text);

// The path in the unified hierarchy: the line of a cgroup file that begins with "0::", or nullopt.
std::optional<std::string_view> parse_cgroup_path(std::string_view text);
// Whether a cgroup is `ancestor`, or one below it; both by their paths, without a slash at the end.
bool is_below(std::string_view cgroup, std::string_view ancestor);

// Those of `pids`, or of all processes if it is empty, that are in the cgroup or below it. Where
// there is none, the list is kNobody alone: an empty one would mean all.
inline constexpr std::uint64_t kNobody = 0;
Result<std::vector<std::uint64_t>> processes_below(int proc, std::string_view cgroup,
                                                   const std::vector<std::uint64_t>& pids);

// REQUIRES: the thread table has its rows and their identity. Other columns of processes become
// Untouched.
void add_process_rows(Snapshot& snapshot);
// The cgroups of threads and their ancestors, and those of `all`. They get their ids if these are
// all, for only then an id that was not there before is that of a new one.
void add_cgroup_rows(Snapshot& snapshot, const CgroupList& all = {});
void add_host_row(Snapshot& snapshot);

}  // namespace ctprof
