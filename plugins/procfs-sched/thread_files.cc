#include "plugins/procfs-sched/thread_files.hpp"

#include "core/base/clock.hpp"

namespace ctprof::procfs {

void ThreadFiles::fill(ThreadColumns& columns, const sdk::Thread& thread,
                       const sdk::Reading<std::string_view>& listed_stat, const sdk::Batch& batch) {
  if (columns.stat && listed_stat) columns.stat.fill(thread, listed_stat.value);
  if (columns.stat && !listed_stat) fill(columns.stat, thread, batch);
  fill_times(columns, thread, batch);
  if (columns.io) fill(columns.io, thread, batch);
  if (columns.sched) fill(columns.sched, thread, batch);
  fill_status(columns, thread, batch);
}

template <class File>
void ThreadFiles::fill(File& file, const sdk::Thread& thread, const sdk::Batch& batch) {
  const auto text = read(thread, File::kName, File::kFailures, batch);
  text ? file.fill(thread, text.value) : file.fail(thread.row, text.gap);
}

// Reads schedstat and the time of that read, because reading the files before it may take long on a
// busy host.
void ThreadFiles::fill_times(ThreadColumns& columns, const sdk::Thread& thread,
                             const sdk::Batch& batch) {
  if (!columns.schedstat) return columns.read_at.fail(thread.row, Gap::NotApplicable);
  const auto text = read(thread, SchedstatFile::kName, SchedstatFile::kFailures, batch);
  if (!text) columns.schedstat.fail(thread.row, text.gap);
  if (!text) return columns.read_at.fail(thread.row, text.gap);
  columns.read_at.put(thread.row, clock_ns(CLOCK_BOOTTIME));
  columns.schedstat.fill(thread, text.value);
}

// The status file also contains the list of CPUs, for threads that the system call does not find.
void ThreadFiles::fill_status(ThreadColumns& columns, const sdk::Thread& thread,
                              const sdk::Batch& batch) {
  const bool needs_cpu_list = columns.affinity && !fill_affinity(columns.affinity, thread);
  if (!columns.status && !needs_cpu_list) return;
  const auto text = read(thread, StatusFile::kName, StatusFile::kFailures, batch);
  if (!text) columns.status.fail(thread.row, text.gap);
  if (!text && needs_cpu_list) columns.affinity.fail(thread.row, text.gap);
  if (!text) return;
  const Status status = StatusFile::parse(text.value);
  columns.status.fill(thread, status);
  if (needs_cpu_list)
    columns.affinity.put(thread.row, masks_.parse_cpu_mask(status.key<"Cpus_allowed_list">()));
}

// Uses the system call. Returns false if the list in the status file is needed instead.
bool ThreadFiles::fill_affinity(AffinityField& affinity, const sdk::Thread& thread) {
  if (!host_.own_tids()) return false;
  const auto mask = masks_.read_thread_mask(thread.tid);
  if (!mask && mask.gap != Gap::ThreadGone) return false;
  affinity.put(thread.row, mask);
  return true;
}

sdk::Reading<std::string_view> ThreadFiles::read(const sdk::Thread& thread, const char* name,
                                                 Tally failures, const sdk::Batch& batch) {
  auto text = file_.read(host_, thread, name);
  if (text) return text;
  text.gap = gap_of_missing_file(host_, text.gap);
  count_failure(batch, failures, text.gap);
  return text;
}

}  // namespace ctprof::procfs
