// procfs-sched: scheduling, faults, I/O and memory of threads and processes, from /proc.
//
// Source: /proc/<tgid>/task/<tid>/{stat,schedstat,io,status,sched}, sched_getaffinity(2), and
// /proc/<tgid>/smaps_rollup. Files of a thread are always read below task/, because outside of it
// some files contain sums over the whole process. A file is opened when a selected column needs it.
//
// Contents: the probe, the two sources, and the plugin's table.
// See also: thread_files.hpp for the columns of each file, the readers for formats, summary.hpp for
// the meaning of the tallies.

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/plugin.hpp"
#include "plugins/procfs-sched/sched.hpp"
#include "plugins/procfs-sched/smaps_rollup.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/procfs-sched/thread_files.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::procfs {
namespace {

// --- the probe, which determines what this host's /proc lacks by reading one existing thread ---
//
// A missing file or key is refused here once, with the kernel option or switch that provides it.
// Therefore a file that is missing later disappeared with its thread. Permission is not probed,
// because it can differ between threads. Files of other users' processes that /proc does not let
// ctprof read are reported as a lack, with the remedy.

// Returns whether the sample thread has no file of this name. A file without read permission is not
// missing.
bool is_missing(const sdk::Host& host, const char* name) {
  sdk::TextFile file;
  return !file.read(host, host.sample(), name) && file.last_errno() == ENOENT;
}

template <class File>
void refuse_if_missing(const sdk::Host& host, const sdk::Probe& probe, std::string_view reason,
                       std::string_view option) {
  if (is_missing(host, File::kName))
    File::refuse(probe, Gap::Unsupported, reason, sdk::by_kernel(option));
}

void refuse_statistics(const sdk::Probe& probe, Gap gap, std::string_view reason,
                       const sdk::Remedy& remedy = {}) {
  SchedStatistics::refuse(probe, gap, reason, remedy);
  probe.refuse(vocabulary::voluntary_sleep_ns, gap, reason, remedy);
}

// Refuses statistics that are not printed: the kernel lacks the option, or the switch is off.
void refuse_missing_statistics(const sdk::Host& host, const sdk::Probe& probe) {
  switch (read_switch(host, kScheduleStatistics)) {
    case Switch::Unknown:
      return refuse_statistics(probe, Gap::Unsupported,
                               "the sched files have no statistics, and " +
                                   describe_unknown_switch("kernel.sched_schedstats"));
    case Switch::Absent:
      return refuse_statistics(
          probe, Gap::Unsupported,
          "the kernel lacks CONFIG_SCHEDSTATS: kernel.sched_schedstats is missing",
          sdk::by_kernel("CONFIG_SCHEDSTATS=y"));
    case Switch::Off:
      return refuse_statistics(
          probe, Gap::SwitchedOff,
          "kernel.sched_schedstats is 0; sysctl kernel.sched_schedstats=1 switches it on",
          sdk::by_command("sysctl -w kernel.sched_schedstats=1"));
    case Switch::On: break;
  }
  refuse_statistics(probe, Gap::Unsupported,
                    "the sched files have no statistics although kernel.sched_schedstats is on");
}

void probe_statistics(const sdk::Host& host, const sdk::Probe& probe, const Sched& sched) {
  if (!sched.key<"nr_wakeups">()) return refuse_missing_statistics(host, probe);
  if (!sched.key<"sum_block_runtime">()) {
    constexpr std::string_view kReason =
        "the sched files have no sum_block_runtime, which came with Linux 5.16";
    constexpr auto kNewer = sdk::by_kernel("Linux 5.16 or newer");
    probe.refuse(vocabulary::block_sum, Gap::Unsupported, kReason, kNewer);
    probe.refuse(vocabulary::voluntary_sleep_ns, Gap::Unsupported, kReason, kNewer);
  }
  if (!sched.key<"core_forceidle_sum">())
    probe.refuse(vocabulary::core_forceidle_sum, Gap::Unsupported,
                 "the kernel has no CONFIG_SCHED_CORE (Linux 5.17)",
                 sdk::by_kernel("CONFIG_SCHED_CORE=y (Linux 5.17 or newer)"));
}

void probe_sched(const sdk::Host& host, const sdk::Probe& probe, std::string_view text) {
  const Sched sched = parse_sched(text);
  probe_statistics(host, probe, sched);
  if (!sched.key<"ext.enabled">())
    probe.refuse(vocabulary::ext_enabled, Gap::Unsupported,
                 "the kernel has no CONFIG_SCHED_CLASS_EXT (Linux 6.12)",
                 sdk::by_kernel("CONFIG_SCHED_CLASS_EXT=y (Linux 6.12 or newer)"));
  if (read_fair_slice(sched).gap == Gap::Unsupported)
    probe.refuse(vocabulary::fair_slice_ns, Gap::Unsupported,
                 "the sched files have no se.slice, which came with Linux 6.12",
                 sdk::by_kernel("Linux 6.12 or newer"));
}

constexpr auto kPtraceRemedy = sdk::by_capabilities("cap_sys_ptrace");

// Returns whether a line of mountinfo describes a procfs mounted at `mount_point` with hidepid. The
// kernel does not print an option that is off.
bool is_hidepid_mount(std::string_view line, std::string_view mount_point) {
  for (int field = 0; field < 4; ++field) sdk::take(line, ' ');
  return sdk::take(line, ' ') == mount_point && line.find(" - proc ") != line.npos &&
         line.find("hidepid=") != line.npos;
}

bool is_mounted_with_hidepid(const sdk::Host& host) {
  sdk::TextFile file;
  const auto mounts = file.read_records(host.proc(), "self/mountinfo");
  for (std::string_view rest = mounts ? mounts.value : std::string_view{}; !rest.empty();)
    if (is_hidepid_mount(sdk::take(rest, '\n'), host.proc_path())) return true;
  return false;
}

// The mount may exempt our group. Therefore the function tries to read a file of process 1, which
// belongs to root.
bool hides_processes(const sdk::Host& host) {
  return is_mounted_with_hidepid(host) && !sdk::TextFile().read(host.proc(), "1/stat");
}

// Reports what /proc hides from ctprof about other users' threads, with the remedy. The io files
// require CAP_SYS_PTRACE, and CAP_DAC_READ_SEARCH because of their mode 0400. A /proc that is
// mounted with hidepid does not even list processes that ctprof may not trace.
void report_unreadable_threads(const sdk::Host& host, const sdk::Probe& probe) {
  if (!host.live()) return;
  if (hides_processes(host))
    probe.all_lack(
        "/proc is mounted with hidepid, and shows only the processes that ctprof may trace",
        kPtraceRemedy);
  if (!has_capabilities({CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH}))
    IoFile::lacks(probe, "ctprof may not read the io files of other users' threads",
                  sdk::by_capabilities("cap_dac_read_search,cap_sys_ptrace"));
}

// Does the same for processes: smaps_rollup only requires CAP_SYS_PTRACE.
void report_unreadable_processes(const sdk::Host& host, const sdk::Probe& probe) {
  if (host.live() && !has_capabilities({CAP_SYS_PTRACE}))
    SmapsRollupField::lacks(probe,
                            "ctprof may not read the smaps_rollup files of other users' processes",
                            kPtraceRemedy);
}

void probe_threads(const sdk::Host& host, const sdk::Probe& probe) {
  if (is_missing(host, StatFile::kName)) return;  // the sample thread cannot be read at all
  refuse_if_missing<SchedstatFile>(
      host, probe, "the kernel has no CONFIG_SCHED_INFO: threads have no schedstat file",
      "CONFIG_SCHED_INFO=y");
  refuse_if_missing<IoFile>(host, probe,
                            "the kernel has no CONFIG_TASK_IO_ACCOUNTING: threads have no io file",
                            "CONFIG_TASK_IO_ACCOUNTING=y");
  refuse_if_missing<SchedFile>(host, probe,
                               "the kernel has no CONFIG_SCHED_DEBUG: threads have no sched file",
                               "CONFIG_SCHED_DEBUG=y");
  sdk::TextFile file;
  const auto sched = file.read(host, host.sample(), SchedFile::kName);
  if (sched) probe_sched(host, probe, sched.value);
  report_unreadable_threads(host, probe);
}

void probe_processes(const sdk::Host& host, const sdk::Probe& probe) {
  // In a recorded tree the file may be missing for some processes, regardless of the kernel.
  if (!host.live()) return;
  char path[64];
  std::snprintf(path, sizeof path, "%llu/smaps_rollup",
                static_cast<unsigned long long>(host.sample().tgid));
  // Do not read the file: that would walk the whole memory of ctprof.
  if (is_absent(host.proc(), path))
    SmapsRollupField::refuse(
        probe, Gap::Unsupported,
        "the kernel has no CONFIG_PROC_PAGE_MONITOR: processes have no smaps_rollup file",
        sdk::by_kernel("CONFIG_PROC_PAGE_MONITOR=y"));
  report_unreadable_processes(host, probe);
}

// --- the sources ---

constexpr const char* kParseSummary = "parse_summary";

class Threads : public sdk::ThreadSource {
 public:
  static constexpr const char* kName = "threads";
  static constexpr auto kOffers = ThreadColumns::kOffers;
  static constexpr auto kReads = sdk::reads(sdk::optional<sdk::kStatText>);
  static constexpr std::uint32_t kTallies = procfs::kTallyCount;
  static constexpr const char* kSummaryKey = kParseSummary;

  explicit Threads(const sdk::Host& host) : files_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_threads(host, probe); }
  static void summarise(const sdk::Summary& summary) { put_parse_summary(summary); }

  void collect(const sdk::Batch& batch) {
    ThreadColumns columns(batch);
    const auto listed = batch.input(sdk::kStatText);
    for (const sdk::Thread thread : batch.threads())
      files_.fill(columns, thread, listed.at(thread.row), batch);
    batch.tally(static_cast<std::uint32_t>(Tally::NegativeDotted), columns.sched.negative_times());
  }

 private:
  ThreadFiles files_;
};

class Processes : public sdk::ProcessSource {
 public:
  static constexpr const char* kName = "processes";
  static constexpr auto kOffers = sdk::joined(ResidentField::kOffers, SmapsRollupField::kOffers);
  static constexpr std::uint32_t kTallies = procfs::kTallyCount;
  static constexpr const char* kSummaryKey = kParseSummary;

  explicit Processes(const sdk::Host& host) : resident_(host), rollup_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    probe_processes(host, probe);
  }
  static void summarise(const sdk::Summary& summary) { put_parse_summary(summary); }

  void collect(const sdk::Batch& batch) {
    ResidentField resident(batch);
    SmapsRollupField rollup(batch);
    const auto tgids = batch.input(sdk::kProcessTgid);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      const std::uint64_t tgid = tgids.at(row).value;  // every row has one
      const Gap memory = resident ? put_resident(resident, row, tgid) : Gap::None;
      if (!rollup) continue;
      if (memory == Gap::NotApplicable)
        rollup.put(row, memory);
      else
        put_rollup(batch, rollup, row, tgid);
    }
  }

 private:
  // NotApplicable means that the process has no memory, like a kernel thread. Then smaps_rollup is
  // not read: it would give the same result at twice the cost.
  Gap put_resident(ResidentField& field, std::uint32_t row, std::uint64_t tgid) {
    const auto bytes = resident_.read_process(tgid);
    field.put(row, bytes);
    return bytes.gap;
  }
  void put_rollup(const sdk::Batch& batch, SmapsRollupField& field, std::uint32_t row,
                  std::uint64_t tgid) {
    const auto entries = rollup_.read_process(tgid);
    field.put(row, entries);
    if (!entries && is_failure(entries.gap)) count_failure(batch, Tally::SmapsRollup, entries.gap);
  }
  // Returns whether the gap is a failed read. A process without memory has no file to read, and
  // malformed text was read.
  static bool is_failure(Gap gap) { return gap != Gap::NotApplicable && gap != Gap::Malformed; }

  ResidentMemory resident_;
  SmapsRollup rollup_;
};

constexpr sdk::Extra kDerived{.derived = sdk::array_of(vocabulary::kProcfsSchedDerived)};

}  // namespace
}  // namespace ctprof::procfs

CTPROF_PLUGIN_WITH("procfs-sched", "1.0",
                   "Scheduling, faults, I/O and memory of every thread and process, from /proc.",
                   ctprof::procfs::kDerived, ctprof::procfs::Threads, ctprof::procfs::Processes)
