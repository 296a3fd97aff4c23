// cgroup-v1: CPU quotas of cgroups where the cpu controller is in a hierarchy of cgroup v1.
//
// Source: /sys/fs/cgroup/<controllers>/<path>/{cpu.cfs_quota_us,cpu.cfs_period_us,cpu.stat}, with
// CONFIG_CFS_BANDWIDTH, and /proc/<tgid>/cgroup. The kernel has the controller either in a v1
// hierarchy or in the v2 hierarchy, which the plugin `cgroup` reads. A path of one hierarchy names
// no cgroup of the other, so these cgroups are the rows of an entity of their own.
//
// Contents: the metrics, the probes, the sources and the plugin's table.
// See also: cpu_hierarchy.hpp for finding the cgroups, cpu_bandwidth.hpp for their files.

#include <cerrno>
#include <string>

#include "ctprof/plugin.hpp"
#include "plugins/cgroup-v1/cpu_bandwidth.hpp"
#include "plugins/cgroup-v1/cpu_hierarchy.hpp"
#include "plugins/cgroupfs/v1_lines.hpp"

namespace ctprof::cgroup_v1 {
namespace {

constexpr const char* kGates = "CONFIG_CFS_BANDWIDTH";

using sdk::EntityMetric;
constexpr EntityMetric<sdk::IdText, sdk::Key> kPath{
    {.name = "cgroup_v1_cpu.path",
     .source = "/sys/fs/cgroup/<controllers> (directory name)",
     .description = "Path of the cgroup in the v1 hierarchy of the cpu controller.",
     .caveat = "A path names different cgroups in different hierarchies; compare it with "
               "process.cgroup_v1_cpu, not with cgroup."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kPeriods{
    {.name = "cgroup_v1_cpu_periods",
     .config_gates = kGates,
     .source = "<cgroup-v1>/cpu.stat:nr_periods",
     .description = "Periods of the quota in which threads of the cgroup were runnable."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kThrottledPeriods{
    {.name = "cgroup_v1_cpu_throttled_periods",
     .config_gates = kGates,
     .source = "<cgroup-v1>/cpu.stat:nr_throttled",
     .description = "Periods in which the cgroup used up its quota."}};
constexpr EntityMetric<sdk::MonotonicNs, sdk::SumNs> kThrottledTime{
    {.name = "cgroup_v1_cpu_throttled_ns",
     .config_gates = kGates,
     .source = "<cgroup-v1>/cpu.stat:throttled_time",
     .description = "Time in which run queues of the cgroup were stopped by its quota, added up "
                    "over the CPUs.",
     .caveat = "Does not include the time in which a cgroup above stopped it; the kernel adds a "
               "stop at its end.",
     .role = "throttled-time"}};
constexpr EntityMetric<sdk::LimitUs, sdk::LimitMax> kQuota{
    {.name = "cgroup_v1_cpu_quota_us",
     .config_gates = kGates,
     .source = "<cgroup-v1>/cpu.cfs_quota_us",
     .description = "CPU time that the cgroup may use per period, or no limit.",
     .caveat = "A cgroup above may have a lower limit.",
     .flags = CTPROF_METRIC_SETTING,
     .role = "cpu-quota"}};
constexpr EntityMetric<sdk::LimitUs, sdk::LimitMax> kPeriod{
    {.name = "cgroup_v1_cpu_period_us",
     .config_gates = kGates,
     .source = "<cgroup-v1>/cpu.cfs_period_us",
     .description = "Length of the period for which the quota applies.",
     .flags = CTPROF_METRIC_SETTING,
     .role = "cpu-period"}};
constexpr sdk::Metric<sdk::IdText, sdk::Key, sdk::Entity::Process> kProcessPath{
    {.name = "process.cgroup_v1_cpu",
     .source = "/proc/<tgid>/cgroup",
     .description = "Path of the process's cgroup in the v1 hierarchy of the cpu controller.",
     .caveat = "The cgroup of the first thread; other threads can be in other cgroups.",
     .role = "cpu-cgroup"}};

constexpr auto kCpuCgroups = sdk::entity(
    "cgroup_v1_cpu", "A cgroup with a CPU quota, in the v1 hierarchy of the cpu controller.");

using Columns = sdk::Table<sdk::Fill<kPeriods, &CpuBandwidth::periods>,
                           sdk::Fill<kThrottledPeriods, &CpuBandwidth::throttled_periods>,
                           sdk::Fill<kThrottledTime, &CpuBandwidth::throttled_time>,
                           sdk::Fill<kQuota, &CpuBandwidth::quota_us>,
                           sdk::Fill<kPeriod, &CpuBandwidth::period_us>>;

// Refuses all metrics if the controller is not in a v1 hierarchy.
bool refuse_without_hierarchy(const CpuHierarchy& hierarchy, const sdk::Probe& probe) {
  if (!hierarchy.exists())
    probe.refuse_all(
        Gap::NotApplicable,
        "no cgroup v1 hierarchy has the cpu controller: see cgroup.cpu.throttled_usec");
  return !hierarchy.exists();
}

class CpuCgroups final : public sdk::EntityListSource<kCpuCgroups> {
 public:
  static constexpr const char* kName = "cpu";
  static constexpr auto kOffers = sdk::joined(sdk::Fields<kPath>::kOffers, Columns::kOffers);

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    const CpuHierarchy hierarchy(host);
    if (refuse_without_hierarchy(hierarchy, probe)) return;
    if (!hierarchy.is_mounted())
      return probe.refuse_all(Gap::Unsupported,
                              "the cgroup v1 hierarchy of the cpu controller is not at " +
                                  std::string(host.sys_path()) + "/" + hierarchy.mount_point());
    sdk::TextFile file;
    if (!file.read(hierarchy.directory(), "cpu.cfs_quota_us") && file.last_errno() == ENOENT)
      probe.refuse_all(Gap::Unsupported, "cgroups have no CPU quota: there is no cpu.cfs_quota_us",
                       sdk::by_kernel("CONFIG_CFS_BANDWIDTH=y"));
  }

  explicit CpuCgroups(const sdk::Host& host) : hierarchy_(host) {}

  void list(const sdk::Listing& listing) {
    sdk::ListedRows<Row> rows(listing);
    hierarchy_.for_each_cgroup([&](const std::string& path, int directory, Gap gap) {
      const CpuBandwidth bandwidth =
          gap == Gap::None ? read_bandwidth(file_, directory) : make_unreadable(gap);
      if (bandwidth.is_limited() && rows.add()) rows.columns().put(rows.row(), path, bandwidth);
    });
    rows.commit();
  }

 private:
  struct Row {
    explicit Row(const sdk::Batch& batch) : path(batch), columns(batch) {}
    void put(std::uint32_t row, const std::string& of_path, const CpuBandwidth& bandwidth) {
      path.put(row, std::string_view(of_path));
      columns.put(row, bandwidth);
    }
    sdk::Fields<kPath> path;
    Columns columns;
  };

  static CpuBandwidth make_unreadable(Gap gap) { return {gap, gap, gap, gap, gap}; }

  CpuHierarchy hierarchy_;
  sdk::TextFile file_;
};

class Processes final : public sdk::ProcessSource {
 public:
  static constexpr const char* kName = "processes";
  static constexpr auto kOffers = sdk::offers(kProcessPath);

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    const CpuHierarchy hierarchy(host);
    if (!refuse_without_hierarchy(hierarchy, probe) && !hierarchy.has_paths_of_processes())
      probe.refuse_all(Gap::Unsupported,
                       "the v1 hierarchy of the cpu controller is mounted from above the cgroup "
                       "namespace of ctprof");
  }

  explicit Processes(const sdk::Host& host) : host_(host) {}

  void collect(const sdk::Batch& batch) {
    auto paths = batch.column(kProcessPath);
    if (!paths) return;
    const auto tgids = batch.input(sdk::kProcessTgid);
    for (std::uint32_t row = 0; row < batch.rows(); ++row)
      paths.put(row, read_path(tgids.at(row).value));  // every row has an id
  }

 private:
  sdk::Reading<std::string_view> read_path(std::uint64_t tgid) {
    const auto text = file_.read(host_.proc(), (std::to_string(tgid) + "/cgroup").c_str());
    if (!text) return text.gap;
    const auto line = cgroupfs::find_v1_line(text.value, kController);
    return line ? sdk::Reading<std::string_view>(line->path) : Gap::Unsupported;
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

}  // namespace
}  // namespace ctprof::cgroup_v1

CTPROF_PLUGIN("cgroup-v1", "1.0",
              "CPU quotas of cgroups, from the cgroup v1 hierarchy of the cpu controller.",
              ctprof::cgroup_v1::CpuCgroups, ctprof::cgroup_v1::Processes)
