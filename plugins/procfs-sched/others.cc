#include "plugins/procfs-sched/others.hpp"

#include <string>
#include <string_view>

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/io.hpp"
#include "plugins/procfs-sched/smaps_rollup.hpp"
#include "plugins/shared/capabilities.hpp"

namespace ctprof::procfs {
namespace {

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

// The mount may make an exception of our group, so the first process, which is root's, is tried.
bool hides_processes(const sdk::Host& host) {
  return is_mounted_with_hidepid(host) && !sdk::TextFile().read(host.proc(), "1/stat");
}

}  // namespace

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

void tell_of_closed_processes(const sdk::Host& host, const sdk::Probe& probe) {
  if (host.live() && !has_capabilities({CAP_SYS_PTRACE}))
    SmapsRollupField::lacks(
        probe, "the smaps_rollup files of other users' processes are closed to ctprof", kMayTrace);
}

}  // namespace ctprof::procfs
