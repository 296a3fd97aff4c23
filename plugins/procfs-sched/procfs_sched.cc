// procfs-sched: what /proc says about scheduling, faults, I/O and memory of threads and processes.
//
// Source: /proc/<tgid>/task/<tid>/{stat,schedstat,io,status,sched}, sched_getaffinity(2), and
// /proc/<tgid>/smaps_rollup. Always below task/ for a thread: outside of it some files give the
// sums of the whole process. A file is opened when a wanted column needs it.
//
// What is here:   the two sources and the plugin's table.
// What is not:    which file has what (thread_files.cc), formats (a reader for each file), what the
//                 host lacks (probe.cc), what the tallies mean (summary.cc).

#include "ctprof/plugin.hpp"
#include "plugins/procfs-sched/probe.hpp"
#include "plugins/procfs-sched/smaps_rollup.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/procfs-sched/thread_files.hpp"

namespace ctprof::procfs {
namespace {

constexpr const char* kParseSummary = "parse_summary";

class Threads : public sdk::ThreadSource {
 public:
  static constexpr const char* kName = "threads";
  static constexpr auto kOffers = ThreadColumns::kOffers;
  static constexpr auto kReads = sdk::reads(sdk::optional<sdk::kStatText>);
  static constexpr std::uint32_t kTallies = procfs::kTallies;
  static constexpr const char* kSummaryKey = kParseSummary;

  explicit Threads(const sdk::Host& host) : files_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_threads(host, probe); }
  static void summarise(const sdk::Summary& summary) { put_parse_summary(summary); }

  void collect(const sdk::Batch& batch) {
    ThreadColumns columns(batch);
    const auto listed = batch.input(sdk::kStatText);
    for (const sdk::Thread thread : batch.threads())
      files_.fill(columns, thread, listed.at(thread.row), batch);
    batch.tally(static_cast<std::uint32_t>(Tally::NegativeDotted), columns.sched.negatives());
  }

 private:
  ThreadFiles files_;
};

class Processes : public sdk::ProcessSource {
 public:
  static constexpr const char* kName = "processes";
  static constexpr auto kOffers = SmapsRollupField::kOffers;
  static constexpr std::uint32_t kTallies = procfs::kTallies;
  static constexpr const char* kSummaryKey = kParseSummary;

  explicit Processes(const sdk::Host& host) : rollup_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    probe_processes(host, probe);
  }
  static void summarise(const sdk::Summary& summary) { put_parse_summary(summary); }

  void collect(const sdk::Batch& batch) {
    SmapsRollupField field(batch);
    const auto tgids = batch.input(sdk::kProcessTgid);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      const auto tgid = tgids.at(row);
      const auto entries =
          tgid ? rollup_.of_process(tgid.value) : sdk::Reading<sdk::Entries>(tgid.gap);
      field.put(row, entries);
      if (!entries && is_failure(entries.gap))
        count_failure(batch, Tally::SmapsRollup, entries.gap);
    }
  }

 private:
  // A process without memory has no file to read, and malformed text was read.
  static bool is_failure(Gap gap) { return gap != Gap::NotApplicable && gap != Gap::Malformed; }

  SmapsRollup rollup_;
};

constexpr sdk::Extra kDerived{.derived = sdk::array_of(vocabulary::kProcfsSchedDerived)};

}  // namespace
}  // namespace ctprof::procfs

CTPROF_PLUGIN_WITH("procfs-sched", "1.0",
                   "Scheduling, faults, I/O and memory of every thread and process, from /proc.",
                   ctprof::procfs::kDerived, ctprof::procfs::Threads, ctprof::procfs::Processes)
