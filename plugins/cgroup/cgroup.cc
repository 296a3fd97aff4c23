// cgroup: CPU time, limits, memory, processes and I/O of every cgroup.
//
// Source: the cgroup v2 hierarchy, wherever it is mounted: <cgroup>/{cpu,memory,pids,io,cgroup}.*.
// The v1 hierarchies of a hybrid host are not read here; plugins/cgroup-v1 reads that of the cpu
// controller. The plugin opens a cgroup's directory once, and a file only when a selected column
// needs it.
//
// Contents: the probe, the source and the plugin's table.
// See also: files.hpp for the columns of each file, plugins/cgroupfs for finding cgroups.

#include <unistd.h>

#include <cerrno>
#include <string>

#include "ctprof/plugin.hpp"
#include "plugins/cgroup/files.hpp"
#include "plugins/cgroupfs/directory.hpp"
#include "plugins/cgroupfs/probe.hpp"
#include "plugins/cgroupfs/v1_lines.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::cgroup {
namespace {

// Returns the name of the controller in the v1 hierarchies.
std::string_view v1_name(std::string_view controller) {
  return controller == "io" ? "blkio" : controller;
}

bool is_mounted_as_v1(const sdk::Host& host, std::string_view controller) {
  sdk::TextFile file;
  const auto text = file.read(host, host.sample(), "cgroup");
  return text && cgroupfs::find_v1_line(text.value, v1_name(controller));
}

std::string describe_missing_controller(const std::string& controller, bool is_in_v1) {
  return "the cgroup v2 hierarchy has no " + controller + " controller: " +
         (is_in_v1 ? "it is mounted as cgroup v1, which has these values"
                   : "the kernel was built or started without it, or it is not passed on to this "
                     "namespace");
}

bool disables(std::string_view list, std::string_view controller) {
  while (!list.empty())
    if (const auto name = sdk::take(list, ','); name == controller || name == v1_name(controller))
      return true;
  return false;
}

// Returns the kernel command line options that disable the controller, separated by blanks; empty
// if there are none. The kernel applies all of them together.
std::string find_disabling_options(const sdk::Host& host, std::string_view controller) {
  std::string words;
  for (const std::string& list : boot_option_values(host, "cgroup_disable="))
    if (disables(list, controller))
      words += (words.empty() ? "cgroup_disable=" : " cgroup_disable=") + list;
  return words;
}

// Returns the requirements of a metric in the vocabulary: "it needs CONFIG_MEMCG,CONFIG_ZSWAP and
// Linux 5.19".
std::string describe_requirements(const ctprof_metric& metric) {
  const std::string_view since = metric.since ? metric.since : "";
  std::string sentence =
      "it needs " + std::string(metric.config_gates ? metric.config_gates : "a newer kernel");
  if (!since.empty()) (sentence += " and Linux ") += since.substr(0, since.find(' '));
  return sentence;
}

// Returns the same requirements as a remedy: "CONFIG_MEMCG=y CONFIG_ZSWAP=y (Linux 5.19 or newer)".
std::string required_kernel(const ctprof_metric& metric) {
  const std::string_view since = metric.since ? metric.since : "";
  std::string words;
  for (std::string_view rest = metric.config_gates ? metric.config_gates : ""; !rest.empty();)
    (words += words.empty() ? "" : " ") += std::string(sdk::take(rest, ',')) + "=y";
  if (since.empty()) return words;
  const std::string newer = "Linux " + std::string(since.substr(0, since.find(' '))) + " or newer";
  return words.empty() ? newer : words + " (" + newer + ")";
}

void refuse_controller(const sdk::Host& host, const sdk::Probe& probe,
                       const std::string& controller) {
  const bool is_in_v1 = is_mounted_as_v1(host, controller);
  const std::string reason = describe_missing_controller(controller, is_in_v1);
  const std::string words = find_disabling_options(host, controller), without = "without " + words;
  // If it is neither mounted as v1 nor disabled, the remedy is unknown.
  const sdk::Remedy remedy = is_in_v1        ? cgroupfs::remedy_for_unified_hierarchy(host)
                             : words.empty() ? sdk::Remedy{}
                                             : sdk::by_boot(without);
  AllFiles::for_each_type([&]<class File>() {
    if (File::kController == controller) File::refuse(probe, Gap::Unsupported, reason, remedy);
  });
  if (controller != "cpu") return;
  CpuStatFile::Bandwidth::refuse(probe, Gap::Unsupported, reason, remedy);
  CpuStatLocalFile::refuse(probe, Gap::Unsupported, reason, remedy);
}

// Returns whether the root of the hierarchy does not pass the controller on to its children. The
// root of a namespace does not count: it may contain processes, and then it cannot pass controllers
// on.
bool is_withheld_by_root(const sdk::Host& host, const std::string& controller) {
  sdk::TextFile file;
  const auto passed_on = file.read(host.cgroup(), "cgroup.subtree_control");
  const bool is_root = ::faccessat(host.cgroup(), "cgroup.type", F_OK, 0) != 0;
  return is_root && passed_on && !cgroupfs::has_word(sdk::trimmed(passed_on.value), controller);
}

void report_if_not_passed_on(const sdk::Host& host, const sdk::Probe& probe,
                             const std::string& controller) {
  const std::string control_file = std::string(host.cgroup_path()) + "/cgroup.subtree_control";
  if (!is_withheld_by_root(host, controller) ||
      control_file.find_first_of("'\\") != control_file.npos)
    return;
  const std::string reason = "the root of the cgroup v2 hierarchy does not pass the " + controller +
                             " controller on to the cgroups below it";
  const std::string command = "echo +" + controller + " >'" + control_file + "'";
  AllFiles::for_each_type([&]<class File>() {
    if (File::kController == controller) File::lacks(probe, reason, sdk::by_command(command));
  });
  if (controller != "cpu") return;
  CpuStatFile::Bandwidth::lacks(probe, reason, sdk::by_command(command));
  CpuStatLocalFile::lacks(probe, reason, sdk::by_command(command));
}

// Refuses the file if a cgroup that has the controller lacks it: then all cgroups lack it.
template <class File>
void refuse_if_missing(const sdk::Probe& probe, const cgroupfs::Sample& sample) {
  if (sample.lacks(File::kName))
    File::refuse(probe, Gap::Unsupported,
                 std::string("cgroups have no ") + File::kName +
                     " here: " + describe_requirements(File::kOffers[0]),
                 sdk::by_kernel(required_kernel(File::kOffers[0])));
}

// Does the same for a key in a file that all cgroups have.
template <class Metric>
void refuse_if_missing(const sdk::Probe& probe, const cgroupfs::Sample& sample,
                       const Metric& metric, const char* file, const char* key) {
  sdk::TextFile reader;
  const auto text = reader.read(sample.dir(), file);
  const bool lacks = text ? find_flat_value(text.value, key).gap == Gap::Unsupported
                          : reader.last_errno() == ENOENT;
  if (lacks)
    probe.refuse(
        metric, Gap::Unsupported,
        std::string(file) + " has no " + key + " here: " + describe_requirements(metric.abi),
        sdk::by_kernel(required_kernel(metric.abi)));
}

void probe_versions(const sdk::Host& host, const sdk::Probe& probe) {
  for (const std::string_view controller : {"memory", "pids", "io"}) {
    const cgroupfs::Sample sample(host, controller);
    AllFiles::for_each_type([&]<class File>() {
      if (sample && File::kController == controller) refuse_if_missing<File>(probe, sample);
    });
  }
  const cgroupfs::Sample sample(host, "cpu");
  if (!sample) return;
  refuse_if_missing(probe, sample, vocabulary::cgroup_cpu_nr_bursts, "cpu.stat", "nr_bursts");
  refuse_if_missing(probe, sample, vocabulary::cgroup_cpu_burst_usec, "cpu.stat", "burst_usec");
  refuse_if_missing(probe, sample, vocabulary::cgroup_cpu_local_throttled_usec, "cpu.stat.local",
                    "throttled_usec");
}

// Refuses metrics that no cgroup of this host can have: because of a missing hierarchy, a missing
// controller or an older kernel. If only some cgroups lack a value, their cells report why
// (cgroupfs::Directory).
void probe_cgroups(const sdk::Host& host, const sdk::Probe& probe) {
  if (host.cgroup() < 0)
    return probe.refuse_all(Gap::Unsupported, "no cgroup v2 hierarchy is mounted",
                            cgroupfs::remedy_for_unified_hierarchy(host));
  sdk::TextFile file;
  const auto controllers = file.read(host.cgroup(), "cgroup.controllers");
  if (!controllers) return;  // each cell reports its gap
  for (const char* controller : {"cpu", "memory", "pids", "io"})
    cgroupfs::has_word(sdk::trimmed(controllers.value), controller)
        ? report_if_not_passed_on(host, probe, controller)
        : refuse_controller(host, probe, controller);
  probe_versions(host, probe);
}

class Cgroups : public sdk::CgroupSource {
 public:
  static constexpr auto kOffers = AllFiles::kOffers;

  explicit Cgroups(const sdk::Host& host) : directory_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_cgroups(host, probe); }

  void collect(const sdk::Batch& batch) {
    AllFiles files(batch);
    cgroupfs::fill_rows(batch, directory_, files,
                        [this](auto& file, std::uint32_t row) { fill(file, row); });
  }

 private:
  template <class File>
  void fill(File& file, std::uint32_t row) {
    const auto text = directory_.read(File::kName, File::kController);
    text ? file.fill(row, text.value, directory_) : file.fail(row, text.gap);
  }

  cgroupfs::Directory directory_;
};

}  // namespace
}  // namespace ctprof::cgroup

CTPROF_PLUGIN(
    "cgroup", "1.0",
    "CPU time, limits, memory, processes and I/O of cgroups, from the cgroup v2 hierarchy.",
    ctprof::cgroup::Cgroups)
