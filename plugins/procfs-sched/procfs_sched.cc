// procfs-sched: what /proc says about scheduling, faults, I/O and memory of threads and processes.
//
// Source: /proc/<tgid>/task/<tid>/{stat,schedstat,io,status,sched}, sched_getaffinity(2), and /proc/<tgid>/smaps_rollup. Always below
// task/ for a thread: outside of it some files give the sums of the whole process. A file is opened when a wanted column needs it.
//
// What is here:   the two sources and the plugin's table.
// What is not:    formats (a reader for each file), what the host lacks (probe.cc), the tallies' meaning (summary.cc).

#include "ctprof/plugin.hpp"
#include "plugins/procfs-sched/affinity.hpp"
#include "plugins/procfs-sched/io.hpp"
#include "plugins/procfs-sched/missing.hpp"
#include "plugins/procfs-sched/probe.hpp"
#include "plugins/procfs-sched/sched.hpp"
#include "plugins/procfs-sched/schedstat.hpp"
#include "plugins/procfs-sched/smaps_rollup.hpp"
#include "plugins/procfs-sched/stat.hpp"
#include "plugins/procfs-sched/status.hpp"
#include "plugins/procfs-sched/summary.hpp"

namespace ctprof::procfs {
namespace {

constexpr const char* kParseSummary = "parse_summary";

class Threads : public sdk::ThreadSource {
 public:
  static constexpr const char* kName = "threads";
  static constexpr auto kOffers = joined(StatFile::kOffers, SchedstatFile::kOffers, IoFile::kOffers, StatusFile::kOffers,
                                         AffinityField::kOffers, SchedFile::kOffers);
  static constexpr std::array kReads{"stat?"};
  static constexpr std::uint32_t kTallies = procfs::kTallies;
  static constexpr const char* kSummaryKey = kParseSummary;

  explicit Threads(const sdk::Host& host) : host_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_threads(host, probe); }
  static void summarise(const sdk::Summary& summary) { put_parse_summary(summary); }

  void collect(const sdk::Batch& batch) {
    StatFile stat(batch);
    SchedstatFile schedstat(batch);
    IoFile io(batch);
    StatusFile status(batch);
    AffinityField affinity(batch);
    SchedFile sched(batch);
    const auto listed = batch.input<ctprof_text>(kStatInput);
    for (const sdk::Thread thread : batch.threads()) {
      if (stat && !fill_listed(stat, thread, listed)) fill(stat, thread, batch);
      if (schedstat) fill(schedstat, thread, batch);
      if (io) fill(io, thread, batch);
      if (sched) fill(sched, thread, batch);
      fill_status(status, affinity, thread, batch);
    }
    batch.tally(static_cast<std::uint32_t>(Tally::NegativeDotted), sched.negatives());
  }

 private:
  static constexpr std::uint32_t kStatInput = kStageReads.size();

  // From the text that the lister read anyway; false when there is none.
  static bool fill_listed(StatFile& stat, const sdk::Thread& thread, const sdk::Input<ctprof_text>& listed) {
    const auto text = listed.at(thread.row);
    if (!text) return false;
    stat.fill(thread, {text.value.data, text.value.size});
    return true;
  }

  template <class File>
  void fill(File& file, const sdk::Thread& thread, const sdk::Batch& batch) {
    const auto text = read(thread, File::kName, File::kFailures, batch);
    text ? file.fill(thread, text.value) : file.fail(thread.row, text.gap);
  }

  // The status file has the list of CPUs too, for threads that the system call does not know.
  void fill_status(StatusFile& file, AffinityField& affinity, const sdk::Thread& thread, const sdk::Batch& batch) {
    const bool list_wanted = affinity && !fill_affinity(affinity, thread);
    if (!file && !list_wanted) return;
    const auto text = read(thread, StatusFile::kName, StatusFile::kFailures, batch);
    if (!text) file.fail(thread.row, text.gap);
    if (!text && list_wanted) affinity.fail(thread.row, text.gap);
    if (!text) return;
    const Status status = parse_status(text.value);
    file.fill(thread, status);
    if (list_wanted) affinity.put(thread.row, masks_.of_list(status.cpus_allowed));
  }

  // By the system call; false when the list is to be asked instead.
  bool fill_affinity(AffinityField& affinity, const sdk::Thread& thread) {
    if (!host_.own_tids()) return false;
    const auto mask = masks_.of_thread(thread.tid);
    if (!mask && mask.gap != Gap::ThreadGone) return false;
    affinity.put(thread.row, mask);
    return true;
  }

  sdk::Reading<std::string_view> read(const sdk::Thread& thread, const char* name, Tally failures, const sdk::Batch& batch) {
    auto text = file_.read(host_, thread, name);
    if (text) return text;
    text.gap = of_tree(host_, text.gap);
    count_failure(batch, failures, text.gap);
    return text;
  }

  sdk::Host host_;
  sdk::TextFile file_;
  Affinity masks_;
};

class Processes : public sdk::ProcessSource {
 public:
  static constexpr const char* kName = "processes";
  static constexpr auto kOffers = SmapsRollupField::kOffers;
  static constexpr std::uint32_t kTallies = procfs::kTallies;
  static constexpr const char* kSummaryKey = kParseSummary;

  explicit Processes(const sdk::Host& host) : rollup_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_processes(host, probe); }
  static void summarise(const sdk::Summary& summary) { put_parse_summary(summary); }

  void collect(const sdk::Batch& batch) {
    SmapsRollupField field(batch);
    const auto tgids = batch.input<std::uint64_t>(0);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      const auto tgid = tgids.at(row);
      const auto entries = tgid ? rollup_.of_process(tgid.value) : sdk::Reading<sdk::Entries>(tgid.gap);
      field.put(row, entries);
      if (!entries && is_failure(entries.gap)) count_failure(batch, Tally::SmapsRollup, entries.gap);
    }
  }

 private:
  // A process without memory has nothing to be read, and text that could not be understood was read.
  static bool is_failure(Gap gap) { return gap != Gap::NotApplicable && gap != Gap::Malformed; }

  SmapsRollup rollup_;
};

constexpr sdk::Extra kDerived{.derived = sdk::array_of(vocabulary::kProcfsSchedDerived)};

}  // namespace
}  // namespace ctprof::procfs

CTPROF_PLUGIN_WITH("procfs-sched", "1.0", "Scheduling, faults, I/O and memory of every thread and process, from /proc.",
                   ctprof::procfs::kDerived, ctprof::procfs::Threads, ctprof::procfs::Processes)
