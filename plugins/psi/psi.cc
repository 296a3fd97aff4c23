// psi: pressure, the share of time in which work waited for CPU, memory, I/O or interrupts, of the
// host and of each cgroup.
//
// Source: /proc/pressure/{cpu,memory,io,irq} and <cgroup>/{cpu,memory,io,irq}.pressure; CONFIG_PSI,
// and psi=1 on the command line if the kernel requires it. irq needs CONFIG_IRQ_TIME_ACCOUNTING.
//
// Contents: the probe, the two sources and the plugin's table.
// See also: pressure.hpp for the format and the columns; plugins/cgroupfs for finding cgroups.

#include <cerrno>
#include <string>
#include <string_view>

#include "ctprof/plugin.hpp"
#include "plugins/cgroupfs/directory.hpp"
#include "plugins/cgroupfs/probe.hpp"
#include "plugins/psi/pressure.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::psi {
namespace {

struct Refusal {
  Gap gap;
  std::string_view reason;
  sdk::Remedy remedy{};
};

// Returns why the host has no pressure at all.
Refusal explain_missing_pressure(const sdk::Host& host) {
  const std::string psi = last_boot_option_value(host, "psi=");
  if (psi == "0" || psi == "n" || psi == "off")
    return {Gap::SwitchedOff, "pressure is disabled by psi=0 on the kernel command line; use psi=1",
            sdk::by_boot("psi=1")};
  const auto is_built = is_built_with(host, "CONFIG_PSI");
  if (!is_built && psi.empty())
    return {Gap::Unsupported,
            "the kernel does not measure pressure: it has no CONFIG_PSI, or needs psi=1 on its "
            "command line",
            sdk::by_boot("psi=1, if the kernel has CONFIG_PSI")};
  if (!is_built.value_or(false))
    return {Gap::Unsupported, "the kernel does not measure pressure: it has no CONFIG_PSI",
            sdk::by_kernel("CONFIG_PSI=y")};
  if (psi.empty() && is_built_with(host, "CONFIG_PSI_DEFAULT_DISABLED").value_or(false))
    return {Gap::SwitchedOff,
            "the kernel measures pressure only with psi=1 on its command line "
            "(CONFIG_PSI_DEFAULT_DISABLED)",
            sdk::by_boot("psi=1")};
  return {Gap::Unsupported, "the kernel has CONFIG_PSI but shows no pressure files here"};
}

// The option may occur several times; the kernel applies all of its occurrences.
bool is_disabled(const sdk::Host& host, std::string_view feature) {
  for (const std::string& list : boot_option_values(host, "cgroup_disable="))
    for (std::string_view rest = list; !rest.empty();)
      if (sdk::take(rest, ',') == feature) return true;
  return false;
}

Refusal explain_missing_cgroup_pressure(const sdk::Host& host) {
  if (is_disabled(host, "pressure"))
    return {Gap::SwitchedOff,
            "pressure of cgroups is switched off by cgroup_disable=pressure on the kernel's "
            "command line",
            sdk::by_boot("without cgroup_disable=pressure")};
  return explain_missing_pressure(host);
}

constexpr std::string_view kNoIrqReason =
    "the kernel does not measure pressure by interrupts: it has no CONFIG_IRQ_TIME_ACCOUNTING "
    "(Linux 6.1)";
constexpr auto kIrqRemedy = sdk::by_kernel("CONFIG_IRQ_TIME_ACCOUNTING=y (Linux 6.1 or newer)");
constexpr std::string_view kNoFullReason =
    "the kernel has no line `full` for this resource, which came with Linux 5.13";

// Refuses the metrics that the pressure file `name` lacks. A file that exists without read
// permission is not missing.
template <class File>
void probe_file(const sdk::Probe& probe, int dir, const char* name, const Refusal& refusal) {
  sdk::TextFile file;
  const auto text = file.read(dir, name);
  const bool is_irq = std::string_view(name).find("irq") != std::string_view::npos;
  File::refuse_nonexistent_line(probe);
  if (text && !parse_pressure(text.value).full.total_usec)
    File::FullFields::refuse(probe, Gap::Unsupported, kNoFullReason,
                             sdk::by_kernel("Linux 5.13 or newer"));
  if (text) return;
  if (file.last_errno() == EOPNOTSUPP)
    File::refuse(probe, Gap::SwitchedOff,
                 "the kernel was started with pressure disabled; psi=1 enables it",
                 sdk::by_boot("psi=1"));
  if (file.last_errno() != ENOENT) return;
  is_irq&& refusal.gap == Gap::None
      ? File::refuse(probe, Gap::Unsupported, kNoIrqReason, kIrqRemedy)
      : File::refuse(probe, refusal.gap, refusal.reason, refusal.remedy);
}

// Refuses all metrics for one reason, except those that have a reason of their own.
template <class Files>
void refuse_all(const sdk::Probe& probe, const Refusal& refusal) {
  Files::for_each_type([&]<class File>() {
    File::refuse(probe, refusal.gap, refusal.reason, refusal.remedy);
    File::refuse_nonexistent_line(probe);
  });
}

// Returns whether the root's own switch hides its files; it does not hide those of other cgroups.
bool is_switched_off_at_root(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.cgroup(), "cgroup.pressure");
  return text && sdk::trimmed(text.value) == "0";
}

bool file_exists(int dir, const char* name) {
  sdk::TextFile file;
  return file.read(dir, name) || file.last_errno() != ENOENT;
}

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  const Refusal refusal = file_exists(host.proc(), "pressure/cpu") ? Refusal{Gap::None, {}}
                                                                   : explain_missing_pressure(host);
  HostFiles::for_each_type(
      [&]<class File>() { probe_file<File>(probe, host.proc(), File::kHostName, refusal); });
}

void probe_cgroups(const sdk::Host& host, const sdk::Probe& probe) {
  if (host.cgroup() < 0)
    return refuse_all<CgroupFiles>(probe, {Gap::Unsupported, "no cgroup v2 hierarchy is mounted",
                                           cgroupfs::remedy_for_unified_hierarchy(host)});
  if (is_switched_off_at_root(host)) return;
  const Refusal refusal = file_exists(host.cgroup(), "cpu.pressure")
                              ? Refusal{Gap::None, {}}
                              : explain_missing_cgroup_pressure(host);
  CgroupFiles::for_each_type(
      [&]<class File>() { probe_file<File>(probe, host.cgroup(), File::kCgroupName, refusal); });
}

class HostPressureSource : public sdk::HostSource {
 public:
  static constexpr const char* kName = "host";
  static constexpr auto kOffers = HostFiles::kOffers;

  explicit HostPressureSource(const sdk::Host& host) : host_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }

  void collect(const sdk::Batch& batch) {
    HostFiles files(batch);
    for (std::uint32_t row = 0; row < batch.rows(); ++row)
      files.for_each([&](auto& file) {
        if (file) fill(file, row);
      });
  }

 private:
  template <class File>
  void fill(File& file, std::uint32_t row) {
    const auto text = file_.read(host_.proc(), File::kHostName);
    text ? file.fill(row, text.value) : file.fail(row, gap_of(file_.last_errno()));
  }

  // Nothing disappears from /proc/pressure: the kernel does not support a missing file.
  static Gap gap_of(int error) {
    if (error == ENOENT) return Gap::Unsupported;
    return error == EOPNOTSUPP ? Gap::SwitchedOff : gap_of_errno(error);
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

class CgroupPressureSource : public sdk::CgroupSource {
 public:
  static constexpr const char* kName = "cgroups";
  static constexpr auto kOffers = CgroupFiles::kOffers;

  explicit CgroupPressureSource(const sdk::Host& host) : directory_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_cgroups(host, probe); }

  void collect(const sdk::Batch& batch) {
    CgroupFiles files(batch);
    cgroupfs::fill_rows(batch, directory_, files,
                        [this](auto& file, std::uint32_t row) { fill(file, row); });
  }

 private:
  template <class File>
  void fill(File& file, std::uint32_t row) {
    const auto text = directory_.read(File::kCgroupName);
    text ? file.fill(row, text.value) : file.fail(row, gap_of_missing_file(text.gap));
  }

  // Returns SwitchedOff if the cgroup's own switch hides its files.
  Gap gap_of_missing_file(Gap gap) {
    if (gap != Gap::Unsupported) return gap;
    const auto text = directory_.read("cgroup.pressure");
    return text && sdk::trimmed(text.value) == "0" ? Gap::SwitchedOff : gap;
  }

  cgroupfs::Directory directory_;
};

}  // namespace
}  // namespace ctprof::psi

CTPROF_PLUGIN("psi", "1.0", "Pressure stall information of the host and of cgroups.",
              ctprof::psi::HostPressureSource, ctprof::psi::CgroupPressureSource)
