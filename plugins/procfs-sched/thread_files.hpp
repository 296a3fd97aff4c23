// Fills the selected columns from the files in /proc of a thread, and contains the two smallest
// formats, io and schedstat.
//
// See also: the readers for the other formats; procfs_sched.cc for processes.

#pragma once

#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/text_table.hpp"
#include "plugins/procfs-sched/sched.hpp"
#include "plugins/procfs-sched/stat.hpp"
#include "plugins/procfs-sched/status.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

// /proc/<tgid>/task/<tid>/schedstat: three numbers: ns on a CPU, ns waiting for one, and the number
// of times that the thread was put on one. Needs CONFIG_SCHED_INFO, but neither CONFIG_SCHEDSTATS
// nor kernel.sched_schedstats.
struct SchedstatFile : sdk::WordText<1, sdk::WordLine<vocabulary::run_time_ns, 1>,
                                     sdk::WordLine<vocabulary::wait_time_ns, 2>,
                                     sdk::WordLine<vocabulary::timeslices, 3>> {
  using WordText::WordText;
  static constexpr const char* kName = "schedstat";
  static constexpr Tally kFailures = Tally::Schedstat;
  static Values parse(std::string_view text) { return WordText::parse(sdk::take(text, '\n')); }
  void fill(const sdk::Thread& thread, std::string_view text) { put(thread.row, parse(text)); }
};

// /proc/<tgid>/task/<tid>/io: seven lines `key: number`, bytes and calls. Outside task/ it is a sum
// over the process. A line that is missing or not a number is Malformed.
//
// The file needs CONFIG_TASK_IO_ACCOUNTING, and permission to ptrace the thread: CAP_SYS_PTRACE for
// other users' threads, and also CAP_DAC_READ_SEARCH, because its mode is 0400.
struct IoFile
    : sdk::KeyedText<
          ':', sdk::KeyLine<vocabulary::rchar, "rchar">, sdk::KeyLine<vocabulary::wchar, "wchar">,
          sdk::KeyLine<vocabulary::syscr, "syscr">, sdk::KeyLine<vocabulary::syscw, "syscw">,
          sdk::KeyLine<vocabulary::read_bytes, "read_bytes">,
          sdk::KeyLine<vocabulary::write_bytes, "write_bytes">,
          sdk::KeyLine<vocabulary::cancelled_write_bytes, "cancelled_write_bytes">> {
  using KeyedText::KeyedText;
  static constexpr const char* kName = "io";
  static constexpr Tally kFailures = Tally::Io;
  void fill(const sdk::Thread& thread, std::string_view text) { put(thread.row, parse(text)); }
};

using ReadAtField = sdk::Fields<sdk::kReadAt>;

// The columns of a batch. REQUIRES: the batch's source offers all of them.
struct ThreadColumns {
  static constexpr auto kOffers =
      sdk::joined(StatFile::kOffers, SchedstatFile::kOffers, IoFile::kOffers, StatusFile::kOffers,
                  AffinityField::kOffers, SchedFile::kOffers, ReadAtField::kOffers);

  explicit ThreadColumns(const sdk::Batch& batch)
      : stat(batch),
        schedstat(batch),
        io(batch),
        status(batch),
        affinity(batch),
        sched(batch),
        read_at(batch) {}

  StatFile stat;
  SchedstatFile schedstat;
  IoFile io;
  StatusFile status;
  AffinityField affinity;
  SchedFile sched;
  ReadAtField read_at;
};

// Reads the files of a thread. Each worker has one object. Failures are counted in the batch, by
// Tally.
class ThreadFiles {
 public:
  explicit ThreadFiles(const sdk::Host& host) : host_(host) {}

  // `listed_stat` is the text of the stat file, if the lister has read it.
  void fill(ThreadColumns& columns, const sdk::Thread& thread,
            const sdk::Reading<std::string_view>& listed_stat, const sdk::Batch& batch);

 private:
  template <class File>
  void fill(File& file, const sdk::Thread& thread, const sdk::Batch& batch);
  void fill_times(ThreadColumns& columns, const sdk::Thread& thread, const sdk::Batch& batch);
  void fill_status(ThreadColumns& columns, const sdk::Thread& thread, const sdk::Batch& batch);
  bool fill_affinity(AffinityField& affinity, const sdk::Thread& thread);
  sdk::Reading<std::string_view> read(const sdk::Thread& thread, const char* name, Tally failures,
                                      const sdk::Batch& batch);

  sdk::Host host_;
  sdk::TextFile file_;
  Affinity masks_;
};

}  // namespace ctprof::procfs
