// All that /proc says of a thread, file by file, into the columns that are wanted of it.
//
// What is here:   which file is read for which columns, and what else knows the CPUs.
// What is not:    formats (a reader for each file), processes (procfs_sched.cc).

#pragma once

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/affinity.hpp"
#include "plugins/procfs-sched/io.hpp"
#include "plugins/procfs-sched/sched.hpp"
#include "plugins/procfs-sched/schedstat.hpp"
#include "plugins/procfs-sched/stat.hpp"
#include "plugins/procfs-sched/status.hpp"
#include "plugins/procfs-sched/summary.hpp"

namespace ctprof::procfs {

// The columns of a batch, whoever's it is: it must offer all of them.
struct ThreadColumns {
  static constexpr auto kOffers =
      sdk::joined(StatFile::kOffers, SchedstatFile::kOffers, IoFile::kOffers, StatusFile::kOffers,
                  AffinityField::kOffers, SchedFile::kOffers);

  explicit ThreadColumns(const sdk::Batch& batch)
      : stat(batch), schedstat(batch), io(batch), status(batch), affinity(batch), sched(batch) {}

  StatFile stat;
  SchedstatFile schedstat;
  IoFile io;
  StatusFile status;
  AffinityField affinity;
  SchedFile sched;
};

// One per worker. Failures are counted in the batch, by Tally.
class ThreadFiles {
 public:
  explicit ThreadFiles(const sdk::Host& host) : host_(host) {}

  // `listed` is the stat file as the lister read it, where it did.
  void fill(ThreadColumns& columns, const sdk::Thread& thread,
            const sdk::Reading<std::string_view>& listed, const sdk::Batch& batch);

 private:
  template <class File>
  void fill(File& file, const sdk::Thread& thread, const sdk::Batch& batch);
  void fill_status(ThreadColumns& columns, const sdk::Thread& thread, const sdk::Batch& batch);
  bool fill_affinity(AffinityField& affinity, const sdk::Thread& thread);
  sdk::Reading<std::string_view> read(const sdk::Thread& thread, const char* name, Tally failures,
                                      const sdk::Batch& batch);

  sdk::Host host_;
  sdk::TextFile file_;
  Affinity masks_;
};

}  // namespace ctprof::procfs
