#include "plugins/procfs-sched/probe.hpp"

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/sched.hpp"
#include "plugins/procfs-sched/smaps_rollup.hpp"
#include "plugins/procfs-sched/thread_files.hpp"
#include "plugins/shared/kernel.hpp"
#include "plugins/shared/process_rights.hpp"

namespace ctprof::procfs {
namespace {

// Whether the sample thread has no file of this name. A file that may not be read is not missing.
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

// The statistics are not printed: for want of the option, or because the switch is off.
void why_no_statistics(const sdk::Host& host, const sdk::Probe& probe) {
  switch (state_of(host, kScheduleStatistics)) {
    case Switch::Unknown:
      return refuse_statistics(
          probe, Gap::Unsupported,
          "the sched files have no statistics, and " + unknown_switch("kernel.sched_schedstats"));
    case Switch::Absent:
      return refuse_statistics(
          probe, Gap::Unsupported,
          "the kernel has no CONFIG_SCHEDSTATS: there is no kernel.sched_schedstats",
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
  if (!sched.key<"nr_wakeups">()) return why_no_statistics(host, probe);
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
  if (fair_slice(sched).gap == Gap::Unsupported)
    probe.refuse(vocabulary::fair_slice_ns, Gap::Unsupported,
                 "the sched files have no se.slice, which came with Linux 6.12",
                 sdk::by_kernel("Linux 6.12 or newer"));
}

constexpr auto kMayTrace = sdk::by_capabilities("cap_sys_ptrace");

// Whether a line of mountinfo is about a procfs mounted there with hidepid. An option that is off
// is not printed.
bool hides(std::string_view line, std::string_view place) {
  for (int field = 0; field < 4; ++field) sdk::take(line, ' ');
  return sdk::take(line, ' ') == place && line.find(" - proc ") != line.npos &&
         line.find("hidepid=") != line.npos;
}

bool is_mounted_with_hidepid(const sdk::Host& host) {
  sdk::TextFile file;
  const auto mounts = file.read_records(host.proc(), "self/mountinfo");
  for (std::string_view rest = mounts ? mounts.value : std::string_view{}; !rest.empty();)
    if (hides(sdk::take(rest, '\n'), host.proc_path())) return true;
  return false;
}

// The mount may make an exception for our group, so try to read a file of process 1, which is
// root's.
bool hides_processes(const sdk::Host& host) {
  return is_mounted_with_hidepid(host) && !sdk::TextFile().read(host.proc(), "1/stat");
}

// What /proc does not show ctprof of other users' threads, with its remedy. The io files take
// CAP_SYS_PTRACE, and CAP_DAC_READ_SEARCH for their mode of 0400. A /proc that is mounted with
// hidepid does not even list processes that ctprof may not trace.
void tell_of_closed_threads(const sdk::Host& host, const sdk::Probe& probe) {
  if (!host.live()) return;
  if (hides_processes(host))
    probe.all_lack(
        "/proc is mounted with hidepid, and shows only the processes that ctprof may trace",
        kMayTrace);
  if (!has_capabilities({CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH}))
    IoFile::lacks(probe, "the io files of other users' threads are closed to ctprof",
                  sdk::by_capabilities("cap_dac_read_search,cap_sys_ptrace"));
}

// The same of processes: smaps_rollup takes CAP_SYS_PTRACE alone.
void tell_of_closed_processes(const sdk::Host& host, const sdk::Probe& probe) {
  if (host.live() && !has_capabilities({CAP_SYS_PTRACE}))
    SmapsRollupField::lacks(
        probe, "the smaps_rollup files of other users' processes are closed to ctprof", kMayTrace);
}

}  // namespace

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
  tell_of_closed_threads(host, probe);
}

void probe_processes(const sdk::Host& host, const sdk::Probe& probe) {
  // In a recorded tree some processes have the file and some not, whatever the kernel.
  if (!host.live()) return;
  sdk::TextFile file;
  char path[64];
  std::snprintf(path, sizeof path, "%llu/smaps_rollup",
                static_cast<unsigned long long>(host.sample().tgid));
  if (!file.read(host.proc(), path) && file.last_errno() == ENOENT)
    SmapsRollupField::refuse(
        probe, Gap::Unsupported,
        "the kernel has no CONFIG_PROC_PAGE_MONITOR: processes have no smaps_rollup file",
        sdk::by_kernel("CONFIG_PROC_PAGE_MONITOR=y"));
  tell_of_closed_processes(host, probe);
}

}  // namespace ctprof::procfs
